/**
 * The functions, version 1: each is one round trip, in which every statement sees what was committed before it began.
 *
 * Two rules keep order and let nobody wait for long:
 *
 * - Whoever stores an event holds advisory locks on its visitor's ids until the end of the transaction, so that `seq` grows
 *   in the order of commits. Nothing but storing takes these locks: a host's long transaction holds up no delivery.
 * - A row that is parked behind an earlier one (`due_at` is null) was parked by somebody who held that earlier row's lock;
 *   whoever removes a row looks, in a statement that begins after it has the row's lock, for what waited behind it.
 */

// Whatever the statistics say, or however stale they are: the indexes were made for these statements.
const BY_INDEX =
  "set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off";

/** @param schema a quoted identifier. */
export const functions = (schema: string) => `
create function ${schema}.lock_keys(p_ids uuid[], p_click_ids text[], p_session_ids text[]) returns setof bigint
language sql stable as $function$
  -- In one order, whoever asks: so nobody waits in a ring.
  select distinct hashtextextended(key, hashtext('${schema}'))
  from (
    select 'id ' || id from unnest(p_ids) as id
    union all select 'click ' || click_id from unnest(p_click_ids) as click_id
    union all select 'session ' || session_id from unnest(p_session_ids) as session_id
  ) as keys (key)
  where key is not null
  order by 1
$function$;

-- Stores events: once it has the locks ('wait'), or none of them where somebody's open transaction has one ('try').
create function ${schema}.append(
  p_ids uuid[], p_kinds text[], p_click_ids text[], p_session_ids text[],
  p_created_at double precision[], p_data text[], p_locks text
) returns setof text -- queued, duplicate, busy or spared: of each, in order
language plpgsql set enable_nestloop = off as $function$
declare
  v_busy bigint[];
begin
  if p_locks = 'wait' then
    perform pg_advisory_xact_lock(key) from ${schema}.lock_keys(p_ids, p_click_ids, p_session_ids) as key;
  elsif p_locks = 'try' then
    v_busy := array(
      select key from ${schema}.lock_keys(p_ids, p_click_ids, p_session_ids) as key
      where not pg_try_advisory_xact_lock(key)
    );
    if v_busy <> '{}' then
      return query
      select case when exists (
        select from ${schema}.lock_keys(array[id], array[click_id], array[session_id]) as key where key = any (v_busy)
      ) then 'busy' else 'spared' end
      from unnest(p_ids, p_click_ids, p_session_ids) with ordinality as event (id, click_id, session_id, nth)
      order by nth;
      return;
    end if;
  end if;
  return query
  with event as (
    select * from unnest(p_ids, p_kinds, p_click_ids, p_session_ids, p_created_at, p_data) with ordinality
      as event (id, kind, click_id, session_id, created_at, data, nth)
  ), fresh as (
    insert into ${schema}.known_ids (id) select id from event on conflict do nothing returning id
  ), stored as (
    insert into ${schema}.events (id, kind, click_id, session_id, data, created_at, queued_at)
    select id, kind, click_id, session_id, data::json, to_timestamp(created_at / 1000), to_timestamp(created_at / 1000)
    from event join fresh using (id)
    order by nth
    returning id
  )
  select case when stored.id is null then 'duplicate' else 'queued' end
  from event left join stored using (id)
  order by nth;
end
$function$;

-- Stores one event in the host's own transaction, and never fails: what goes wrong in here is undone in here, and told.
create function ${schema}.enqueue(
  p_id uuid, p_kind text, p_click_id text, p_session_id text,
  p_created_at double precision, p_data text, p_channel text
) returns text -- queued, duplicate, or what went wrong
language plpgsql as $function$
declare
  v_outcome text;
begin
  begin
    v_outcome := ${schema}.append(
      array[p_id], array[p_kind], array[p_click_id], array[p_session_id], array[p_created_at], array[p_data], 'wait'
    );
  exception when deadlock_detected then
    -- Two transactions report two visitors in opposite order. Neither is lost for that; their order is anybody's guess.
    v_outcome := ${schema}.append(
      array[p_id], array[p_kind], array[p_click_id], array[p_session_id], array[p_created_at], array[p_data], 'none'
    );
  end;
  if v_outcome = 'queued' and p_channel is not null then
    perform pg_notify(p_channel, '');
  end if;
  return v_outcome;
exception when query_canceled or others then
  return sqlerrm;
end
$function$;

-- Hands out at most p_room events whose turn it is. Waits for nobody.
create function ${schema}.claim(p_worker uuid, p_room integer, p_lease interval) returns setof ${schema}.events
language plpgsql ${BY_INDEX} as $function$
declare
  v_room integer := p_room;
  v_look integer := p_room;
  v_found bigint[];
  v_heads bigint[];
  v_behind bigint[]; -- rows that wait ...
  v_before bigint[]; -- ... and the row that each of them waits for
  v_held bigint[];
  v_claimed integer;
  v_parked integer;
begin
  while v_room > 0 loop
    v_found := array(
      select seq from ${schema}.events
      where due_at <= now()
      order by due_at, seq
      limit v_look
      for update skip locked
    );
    exit when v_found = '{}';

    with found as materialized (
      select event.seq, coalesce(
        (select seq from ${schema}.events where click_id = event.click_id and seq < event.seq order by seq limit 1),
        (select seq from ${schema}.events where session_id = event.session_id and seq < event.seq order by seq limit 1)
      ) as before
      from ${schema}.events as event
      where event.seq = any (v_found)
    )
    select
      coalesce(array_agg(seq order by seq) filter (where before is null), '{}'),
      coalesce(array_agg(seq order by seq) filter (where before is not null), '{}'),
      coalesce(array_agg(before order by seq) filter (where before is not null), '{}')
    into v_heads, v_behind, v_before
    from found;

    return query
    update ${schema}.events
    set interrupted = interrupted or claimed_by is not null, claimed_by = p_worker, due_at = now() + p_lease
    where seq = any (v_heads[1:v_room])
    returning *;
    get diagnostics v_claimed = row_count;
    v_room := v_room - v_claimed;

    -- An earlier row whose lock is somebody else's may be on its way out: what waits for it stays as it is, and is found again.
    v_held := array(select seq from ${schema}.events where seq = any (v_before) for key share skip locked);
    update ${schema}.events set due_at = null
    from unnest(v_behind, v_before) as pair (behind, before)
    where seq = behind and before = any (v_held);
    get diagnostics v_parked = row_count;

    exit when v_claimed = 0 and v_parked = 0;
    v_look := case when v_claimed = 0 then least(v_look * 2, 1000) else v_room end;
  end loop;
end
$function$;

-- It is the turn of the next event of each of these visitors, if it was waiting for nothing else.
create function ${schema}.promote(p_click_ids text[], p_session_ids text[]) returns void
language plpgsql ${BY_INDEX} as $function$
declare
  v_next bigint[];
begin
  v_next := array(
    select seq from ${schema}.events
    where seq in (
      select (select seq from ${schema}.events where click_id = visitor order by seq limit 1)
      from unnest(p_click_ids) as visitor
      union
      select (select seq from ${schema}.events where session_id = visitor order by seq limit 1)
      from unnest(p_session_ids) as visitor
    )
    order by seq
    for update
  );
  -- A new statement: with the locks in hand it sees what whoever had them before has written.
  update ${schema}.events set due_at = now() where seq = any (v_next) and due_at is null;
end
$function$;

-- Acts on verdicts, one for each claim: delivered, retry, kept, or the reason of a death. A delivery counts whoever tells
-- of it; the rest is the word of the claim's owner.
create function ${schema}.settle(
  p_worker uuid, p_seqs bigint[], p_ids uuid[], p_verdicts text[],
  p_in_ms double precision[], p_maybe_taken boolean[], p_deaths text[]
) returns setof bigint -- the seqs of what was removed
language plpgsql ${BY_INDEX} as $function$
declare
  v_removed bigint[];
  v_click_ids text[];
  v_session_ids text[];
  v_delivered uuid[] := array(
    select id from unnest(p_ids, p_verdicts) as verdict (id, is_) where is_ = 'delivered'
  );
begin
  with verdict as (
    select * from unnest(p_seqs, p_verdicts, p_deaths) as verdict (seq, is_, death)
  ), removed as (
    delete from ${schema}.events as event using verdict
    where event.seq = verdict.seq
      and (is_ = 'delivered' or is_ not in ('retry', 'kept') and event.claimed_by = p_worker)
    returning event.*, verdict.is_, verdict.death
  ), buried as (
    insert into ${schema}.dead_letters (id, kind, click_id, session_id, data, created_at, maybe_taken, reason, death)
    select id, kind, click_id, session_id, data, created_at, maybe_taken, is_, death::json
    from removed where is_ <> 'delivered' order by seq
  )
  select coalesce(array_agg(seq), '{}'), array_agg(click_id), array_agg(session_id)
  into v_removed, v_click_ids, v_session_ids from removed;

  update ${schema}.known_ids set delivered_at = now() where id = any (v_delivered);
  delete from ${schema}.dead_letters where id = any (v_delivered);

  update ${schema}.events as event
  set claimed_by = null,
      maybe_taken = verdict.maybe_taken,
      interrupted = interrupted and is_ = 'kept',
      attempts = attempts + (is_ = 'retry')::integer,
      due_at = now() + in_ms * interval '1 millisecond'
  from unnest(p_seqs, p_verdicts, p_in_ms, p_maybe_taken) as verdict (seq, is_, in_ms, maybe_taken)
  where event.seq = verdict.seq and event.claimed_by = p_worker and is_ in ('retry', 'kept');

  if v_removed <> '{}' then
    perform ${schema}.promote(v_click_ids, v_session_ids);
  end if;
  return query select unnest(v_removed);
end
$function$;

-- Makes room: removes the oldest events of a kind that nobody has, and forgets them.
create function ${schema}.shed(p_kind text, p_number integer) returns setof ${schema}.events
language plpgsql ${BY_INDEX} as $function$
declare
  v_shed ${schema}.events[];
begin
  with oldest as (
    select seq from ${schema}.events
    where kind = p_kind and claimed_by is null order by seq limit p_number for update skip locked
  ), removed as (
    delete from ${schema}.events as event using oldest where event.seq = oldest.seq returning event.*
  ), forgotten as (
    delete from ${schema}.known_ids as known using removed where known.id = removed.id
  )
  select coalesce(array_agg(removed::${schema}.events order by seq), '{}') into v_shed from removed;
  perform ${schema}.promote(array_agg(click_id), array_agg(session_id)) from unnest(v_shed);
  return query select * from unnest(v_shed) order by seq;
end
$function$;

-- Queues dead letters again, each as the last of its visitor's.
create function ${schema}.revive(p_ids uuid[]) returns setof ${schema}.dead_letters
language plpgsql ${BY_INDEX} as $function$
begin
  perform pg_advisory_xact_lock(key)
  from ${schema}.lock_keys(
    p_ids,
    array(select click_id from ${schema}.dead_letters where id = any (p_ids)),
    array(select session_id from ${schema}.dead_letters where id = any (p_ids))
  ) as key;
  return query
  with risen as (
    delete from ${schema}.dead_letters where id = any (p_ids) returning *
  ), stored as (
    insert into ${schema}.events (id, kind, click_id, session_id, data, created_at, queued_at, maybe_taken)
    select id, kind, click_id, session_id, data, created_at, now(), maybe_taken or reason = 'unconfirmed'
    from risen order by created_at, seq
  )
  select * from risen;
end
$function$;
`;
