-- Moves due payments to the end of their visitors' queues, as if they had happened when due. If a host's open transaction has just
-- reported an event of the same visitor, the payment waits for the next call. Returns how many it has moved.
create function affiliate.release_due(p_destination bigint, p_urgency smallint, p_number integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_due uuid[] := array(
    select id from affiliate.scheduled where destination = p_destination and not_before <= now()
    order by not_before limit p_number for update skip locked
  );
  v_busy bigint[];
  v_released integer;
begin
  if v_due = '{}' then
    return 0;
  end if;
  perform affiliate.commit_durably();
  v_busy := array(
    select key from (
      select array_agg(destination) as destinations, array_agg(id) as ids, array_agg(data ->> 'clickId') as click_ids,
        array_agg(data ->> 'sessionId') as session_ids
      from affiliate.scheduled where destination = p_destination and id = any (v_due)
    ) as due, lateral affiliate.lock_keys(destinations, ids, click_ids, session_ids) as key
    where not pg_try_advisory_xact_lock(key)
  );
  with due as (
    delete from affiliate.scheduled as waiting
    where destination = p_destination and id = any (v_due) and not exists (
      select from affiliate.lock_keys(
        array[waiting.destination], array[waiting.id], array[waiting.data ->> 'clickId'], array[waiting.data ->> 'sessionId']
      ) as key where key = any (v_busy)
    )
    returning *
  )
  insert into affiliate.events
    (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, due_at, urgency, to_enter_from)
  select destination, id, 'payment', 'lead/payment', data ->> 'clickId', data ->> 'sessionId', data, not_before, not_before, now(),
    p_urgency, now()
  from due order by not_before;
  get diagnostics v_released = row_count;
  return v_released;
end
$function$;

-- Removes scheduled payments. Their ids stay known. Returns how many there were.
create function affiliate.cancel(p_destination bigint, p_ids uuid[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  v_cancelled integer;
begin
  perform affiliate.commit_durably();
  with cancelled as (
    delete from affiliate.scheduled where destination = p_destination and id = any (p_ids) returning id
  ), known as (
    update affiliate.known_ids as known set delivered_at = affiliate.delivery_time(), cancelled = true
    from cancelled where known.destination = p_destination and known.id = cancelled.id
  )
  select count(*) into v_cancelled from cancelled;
  return v_cancelled;
end
$function$;

-- Removes a person's events that are not under way, and keeps their ids known. p_seqs: of the queued. Returns how many.
create function affiliate.erase(p_destination bigint, p_ids uuid[], p_seqs bigint[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_removed integer := affiliate.cancel(p_destination, p_ids);
  v_dead integer;
  v_gone affiliate.events[];
begin
  with dead as (
    delete from affiliate.dead_letters where destination = p_destination and id = any (p_ids) returning id
  ), known as (
    update affiliate.known_ids as known set delivered_at = affiliate.delivery_time()
    from dead where known.destination = p_destination and known.id = dead.id
  )
  select count(*) into v_dead from dead;

  -- The visitor's next first, as settling does: so that the two do not wait for each other.
  perform affiliate.lock_next(p_destination, array_agg(click_id), array_agg(session_id))
  from affiliate.events where seq = any (p_seqs);
  with removed as (
    delete from affiliate.events
    where seq = any (p_seqs) and destination = p_destination and id = any (p_ids)
      and (claimed_until is null or claimed_until <= now())
    returning *
  ), known as (
    update affiliate.known_ids as known set delivered_at = affiliate.delivery_time()
    from removed where known.destination = p_destination and known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events), '{}') into v_gone from removed;
  perform affiliate.promote(p_destination, array_agg(click_id), array_agg(session_id)) from unnest(v_gone);
  return v_removed + v_dead + cardinality(v_gone);
end
$function$;
