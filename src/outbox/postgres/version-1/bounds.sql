-- Bounds, and dead letters that are queued again.

-- Sheds: removes the oldest events of a kind that no process has, and forgets them.
create function affiliate.shed(p_kind text, p_number integer) returns setof affiliate.events
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_shed affiliate.events[];
begin
  with oldest as (
    select seq from affiliate.events
    where kind = p_kind and claimed_by is null order by seq limit p_number for update skip locked
  ), removed as (
    delete from affiliate.events as event using oldest where event.seq = oldest.seq returning event.*
  ), forgotten as (
    delete from affiliate.known_ids as known using removed where known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_shed from removed;
  perform affiliate.promote(array_agg(click_id), array_agg(session_id)) from unnest(v_shed);
  return query select * from unnest(v_shed) order by seq;
end
$function$;

-- Removes the oldest clicks of a visitor that no process has, and forgets them, until at most p_most are left. A visitor is a
-- session; where there is none, a click id without one.
create function affiliate.shed_clicks(p_click_id text, p_session_id text, p_most integer)
returns setof affiliate.events
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_clicks bigint[];
  v_oldest bigint[];
  v_shed affiliate.events[];
begin
  if p_session_id is null then
    v_clicks := array(
      select seq from affiliate.events
      where click_id = p_click_id and session_id is null and kind = 'click' order by seq
    );
  else
    v_clicks := array(
      select seq from affiliate.events where session_id = p_session_id and kind = 'click' order by seq
    );
  end if;
  v_oldest := array(
    select seq from affiliate.events where seq = any (v_clicks) and claimed_by is null
    order by seq limit greatest(0, cardinality(v_clicks) - p_most)
  );
  if v_oldest = '{}' then
    return;
  end if;

  -- The visitor's next first, as settling does: so that the two do not wait for each other.
  perform affiliate.lock_next(array_agg(click_id), array_agg(session_id)) from affiliate.events where seq = any (v_oldest);
  with removed as (
    delete from affiliate.events where seq = any (v_oldest) and claimed_by is null returning *
  ), forgotten as (
    delete from affiliate.known_ids as known using removed where known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_shed from removed;
  perform affiliate.promote(array_agg(click_id), array_agg(session_id)) from unnest(v_shed);
  return query select * from unnest(v_shed) order by seq;
end
$function$;

-- Queues dead letters again, each as the last of its visitor's. p_doubtful is the history of one that may have been taken.
create function affiliate.revive(p_ids uuid[], p_doubtful json) returns setof affiliate.dead_letters
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
begin
  perform pg_advisory_xact_lock(key)
  from affiliate.lock_keys(
    p_ids,
    array(select click_id from affiliate.dead_letters where id = any (p_ids)),
    array(select session_id from affiliate.dead_letters where id = any (p_ids))
  ) as key;
  return query
  with risen as (
    delete from affiliate.dead_letters where id = any (p_ids) returning *
  ), stored as (
    insert into affiliate.events (id, kind, endpoint, click_id, session_id, data, created_at, queued_at, due_at, history)
    select id, kind, endpoint, click_id, session_id, data, created_at, now(), now(),
      case when reason = 'unconfirmed' or (history ->> 'maybeTaken')::boolean then p_doubtful end
    from risen order by created_at, seq
  )
  select * from risen;
end
$function$;
