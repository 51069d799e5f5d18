-- Storing. A transaction that stores an event holds advisory locks on its visitor's ids until it ends, so that seq grows in
-- the order of commits. Only storing takes these locks, so a host's long transaction delays no delivery.

create function affiliate.lock_keys(p_destinations bigint[], p_ids uuid[], p_click_ids text[], p_session_ids text[])
returns setof bigint
language plpgsql stable -- which keeps its plan
set search_path = pg_catalog, pg_temp
as $function$
begin
  -- In the same order for every caller: no deadlock.
  return query
  select distinct hashtextextended(destination || ' ' || key, hashtext('affiliate.events')) as hashed
  from unnest(p_destinations, p_ids, p_click_ids, p_session_ids) as event (destination, id, click_id, session_id),
    lateral (values ('id ' || id), ('click ' || click_id), ('session ' || session_id)) as keys (key)
  where key is not null
  order by hashed;
end
$function$;

-- When a payment is due, if that is in the future.
create function affiliate.not_before_of(p_kind text, p_data text) returns timestamptz
language sql stable
as $function$
  select at from (
    select case when p_kind = 'payment' then to_timestamp((p_data::json ->> 'notBefore')::double precision / 1000) end as at
  ) as due where at > now()
$function$;

-- A visitor's clicks. A visitor is a session, or a click id without one.
create function affiliate.clicks_of(p_destination bigint, p_click_id text, p_session_id text) returns setof bigint
language sql stable
as $function$
  (
    select seq from affiliate.events
    where session_id = p_session_id and destination between p_destination and p_destination and kind = 'click'
    order by destination, seq
  )
  union all
  (
    select seq from affiliate.events
    where click_id = p_click_id and destination between p_destination and p_destination and kind = 'click'
      and session_id is null and p_session_id is null
    order by destination, seq
  )
$function$;

-- Stores events. 'wait': once it has the locks. 'try': none of them if another open transaction has a lock.
create function affiliate.append(
  p_destinations bigint[], p_ids uuid[], p_kinds text[], p_endpoints text[], p_click_ids text[], p_session_ids text[],
  p_created_at double precision[], p_data text[],
  p_urgencies smallint[], -- as the events' kinds have them: 1 is the least
  p_clicks_of_a_visitor integer, p_locks text
) returns setof text -- queued, crowded (queued, and its visitor has too many clicks), duplicate, busy or rolled back: of each, in order
language plpgsql
-- The batch is small, and an index finds a visitor's clicks.
set search_path = pg_catalog, pg_temp set enable_nestloop = off set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $function$
declare
  v_busy bigint[];
  v_queued bigint[]; -- places in the arrays
begin
  if p_locks = 'try' then
    perform affiliate.commit_durably();
  end if;
  if p_locks = 'wait' then
    perform pg_advisory_xact_lock(key) from affiliate.lock_keys(p_destinations, p_ids, p_click_ids, p_session_ids) as key;
  elsif p_locks = 'try' then
    v_busy := array(
      select key from affiliate.lock_keys(p_destinations, p_ids, p_click_ids, p_session_ids) as key
      where not pg_try_advisory_xact_lock(key)
    );
    if v_busy <> '{}' then
      return query
      select case when exists (
        select from affiliate.lock_keys(array[destination], array[id], array[click_id], array[session_id]) as key where key = any (v_busy)
      ) then 'busy' else 'rolled back' end
      from unnest(p_destinations, p_ids, p_click_ids, p_session_ids) with ordinality
        as event (destination, id, click_id, session_id, nth)
      order by nth;
      return;
    end if;
  end if;
  with event as (
    select *, to_timestamp(created_at / 1000) as at, affiliate.not_before_of(kind, data) as not_before,
      lag(nth) over (partition by destination, click_id order by nth) is not null and click_id is not null
        or lag(nth) over (partition by destination, session_id order by nth) is not null and session_id is not null as is_behind
    from unnest(
      p_destinations, p_ids, p_kinds, p_endpoints, p_click_ids, p_session_ids, p_created_at, p_data, p_urgencies
    ) with ordinality as event (destination, id, kind, endpoint, click_id, session_id, created_at, data, urgency, nth)
  ), fresh as (
    insert into affiliate.known_ids (destination, id, kind, reported_at) select destination, id, kind, at from event
    on conflict do nothing returning destination, id
  ), stored as (
    insert into affiliate.events
      (destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, due_at, urgency, to_enter_from)
    select destination, id, kind, endpoint, click_id, session_id, data::json, at, at, least(at, now()),
      urgency,
      case when urgency > 1 and (
        is_behind or exists (select from affiliate.right_before(event.destination, null, event.click_id, event.session_id))
      ) then now() end
    from event join fresh using (destination, id)
    where not_before is null
    order by nth
    returning destination, id
  ), scheduled as (
    insert into affiliate.scheduled (destination, id, not_before, data, created_at)
    select destination, id, not_before, data::json, at from event join fresh using (destination, id)
    where not_before is not null
    returning destination, id
  )
  select coalesce(array_agg(nth), '{}') into v_queued
  from event join (select * from stored union all select * from scheduled) as new using (destination, id);

  -- A new statement, which sees what was stored.
  return query
  select case
    when nth <> all (v_queued) then 'duplicate'
    when kind = 'click' and exists (
      select from affiliate.clicks_of(destination, click_id, session_id) offset p_clicks_of_a_visitor
    ) then 'crowded'
    else 'queued'
  end
  from unnest(p_destinations, p_kinds, p_click_ids, p_session_ids) with ordinality
    as event (destination, kind, click_id, session_id, nth)
  order by nth;
end
$function$;

-- Stores one event in the host's own transaction, and never fails: it undoes what goes wrong, and returns it.
create function affiliate.enqueue(
  p_destination bigint, p_id uuid, p_kind text, p_endpoint text, p_click_id text, p_session_id text,
  p_created_at double precision, p_data text, p_urgency smallint, p_clicks_of_a_visitor integer, p_channel text
) returns text -- queued, crowded, duplicate, or what went wrong
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  v_outcome text;
  v_locks text;
begin
  foreach v_locks in array array['wait', 'none'] loop
    begin
      v_outcome := affiliate.append(
        array[p_destination], array[p_id], array[p_kind], array[p_endpoint], array[p_click_id], array[p_session_id],
        array[p_created_at], array[p_data], array[p_urgency], p_clicks_of_a_visitor, v_locks
      );
      exit;
    exception
      when deadlock_detected then
        -- Two transactions report two visitors in opposite order. Both are stored; their order is open.
        if v_locks = 'none' then
          raise;
        end if;
      when serialization_failure then
        -- The id is there, and this transaction cannot see it: its snapshot is older.
        v_outcome := 'duplicate';
        exit;
    end;
  end loop;
  if v_outcome in ('queued', 'crowded') and p_channel is not null then
    -- Since when it is due: a claim that does not begin so early would step over it.
    perform pg_notify(p_channel, least(p_created_at, extract(epoch from now())::double precision * 1000)::text);
  end if;
  return v_outcome;
exception when query_canceled or others then
  return sqlerrm;
end
$function$;
