-- Queues dead letters again, each at the end of its visitor's queue. p_doubtful: the history of one that may have been taken.
-- p_interrupted: only those that were held because their process seemed to have ended during an attempt, queued as they were.
create function affiliate.revive(
  p_destination bigint, p_ids uuid[],
  p_kinds text[], p_urgencies smallint[], -- each kind's
  p_doubtful json, p_interrupted boolean
)
returns setof affiliate.dead_letters
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
begin
  perform affiliate.commit_durably();
  perform pg_advisory_xact_lock(key)
  from (
    select array_agg(destination), array_agg(id), array_agg(click_id), array_agg(session_id)
    from affiliate.dead_letters where destination = p_destination and id = any (p_ids)
  ) as letters (destinations, ids, click_ids, session_ids),
    lateral affiliate.lock_keys(destinations, ids, click_ids, session_ids) as key;
  return query
  with risen as (
    delete from affiliate.dead_letters
    where destination = p_destination and id = any (p_ids)
      and (not p_interrupted or reason = 'unconfirmed' and death ->> 'code' = 'ERR_INTERRUPTED')
    returning *
  ), stored as (
    insert into affiliate.events
      (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, due_at, urgency, to_enter_from, tried, history)
    select destination, id, kind, endpoint, click_id, session_id, data, created_at,
      case when p_interrupted then created_at else now() end, now(), urgency, now(),
      p_interrupted and history is not null,
      case
        when p_interrupted then history
        when reason = 'unconfirmed' or (history ->> 'maybeTaken')::boolean then p_doubtful
      end
    from risen join unnest(p_kinds, p_urgencies) as own (kind, urgency) using (kind) order by created_at, seq
  )
  select * from risen;
end
$function$;
