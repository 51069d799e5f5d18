-- What is queued again: dead letters, and events that become another destination's. Each goes to the end of its visitor's queue.

-- p_doubtful is the history of a dead letter that may have been taken. With p_interrupted, only those that were
-- held because their process seemed to have ended during an attempt: they are queued as they were.
create function affiliate.revive(p_destination bigint, p_ids uuid[], p_doubtful json, p_interrupted boolean)
returns setof affiliate.dead_letters
language plpgsql
-- The plan does not follow the statistics, which may be stale: the indexes were made for these statements.
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
      (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, due_at, urgency, lines_up, tried, history)
    select destination, id, kind, endpoint, click_id, session_id, data, created_at,
      case when p_interrupted then created_at else now() end, now(), affiliate.urgency_of(kind), true,
      p_interrupted and history is not null,
      case
        when p_interrupted then history
        when reason = 'unconfirmed' or (history ->> 'maybeTaken')::boolean then p_doubtful
      end
    from risen order by created_at, seq
  )
  select * from risen;
end
$function$;

-- Makes the oldest events of one destination that no process has another's. One whose id that other knows is dropped.
create function affiliate.hand_over_events(p_from bigint, p_to bigint, p_number integer)
returns table (taken integer, queued integer)
language plpgsql
-- The plan does not follow the statistics, which may be stale: the indexes were made for these statements.
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_seqs bigint[] := array(
    select seq from unnest(array[0, 1, 2]) as each (urgency), lateral (
      select seq from affiliate.events
      where destination = p_from and urgency between each.urgency and each.urgency and claimed_by is null
      order by events.urgency, seq limit p_number for update skip locked
    ) as oldest
    order by seq limit p_number
  );
  v_click_ids text[];
  v_session_ids text[];
begin
  perform affiliate.commit_durably();
  perform pg_advisory_xact_lock(key)
  from (
    select array_agg(p_to), array_agg(id), array_agg(click_id), array_agg(session_id)
    from affiliate.events where seq = any (v_seqs)
  ) as events (destinations, ids, click_ids, session_ids),
    lateral affiliate.lock_keys(destinations, ids, click_ids, session_ids) as key;
  with moved as (
    delete from affiliate.events where seq = any (v_seqs) returning *
  ), forgotten as (
    delete from affiliate.known_ids as known using moved where known.destination = p_from and known.id = moved.id
  ), fresh as (
    insert into affiliate.known_ids (destination, id, kind, reported_at) select p_to, id, kind, created_at from moved
    on conflict do nothing returning id
  ), stored as (
    insert into affiliate.events (
      destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, history, tried, interrupted, due_at,
      urgency, lines_up
    )
    select p_to, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, history, tried, interrupted,
      case when tried then coalesce(due_at, now()) else least(queued_at, now()) end, affiliate.urgency_of(kind), true
    from moved join fresh using (id) order by seq
    returning id
  )
  select count(*), (select count(*) from stored), array_agg(click_id), array_agg(session_id)
  into taken, queued, v_click_ids, v_session_ids from moved;
  -- Events that waited behind them, and stay.
  perform affiliate.promote(p_from, v_click_ids, v_session_ids);
  return next;
end
$function$;

-- Does the same with dead letters, and with the ids of what was delivered. Returns how many it took.
create function affiliate.hand_over_the_rest(p_from bigint, p_to bigint, p_number integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  v_taken integer;
begin
  perform affiliate.commit_durably();
  with taken as (
    select id from affiliate.known_ids as known
    where destination = p_from and (
      delivered_at is not null
      or exists (select from affiliate.dead_letters where destination = p_from and dead_letters.id = known.id)
    )
    limit p_number for update skip locked
  ), known as (
    delete from affiliate.known_ids using taken where destination = p_from and known_ids.id = taken.id returning known_ids.*
  ), fresh as (
    insert into affiliate.known_ids (destination, id, kind, reported_at, delivered_at)
    select p_to, id, kind, reported_at, delivered_at from known
    on conflict do nothing returning id
  ), dropped as (
    delete from affiliate.dead_letters using known
    where dead_letters.destination = p_from and dead_letters.id = known.id
      and not exists (select from fresh where fresh.id = known.id)
  ), moved as (
    update affiliate.dead_letters set destination = p_to from fresh
    where dead_letters.destination = p_from and dead_letters.id = fresh.id
  )
  select count(*) into v_taken from known;
  return v_taken;
end
$function$;
