-- Priority. When an event enters its visitor's queue, each live event that it waits for, also through other events,
-- inherits its priority. Claims do that, not appends: a host's open transaction would lock the earlier rows. A row whose earlier
-- ones could not be changed keeps its mark (to_enter_from), and the next claim tries again.

-- The event that is right before this one by its click id, and the one by its session id. Without p_seq: the last ones.
-- Destination and seq stand together, here and in all that follows, so that the primary key cannot serve the statement: while
-- another session's snapshot is open, a scan of it steps over all that was delivered since.
create function affiliate.right_before(p_destination bigint, p_seq bigint, p_click_id text, p_session_id text)
returns setof bigint
language sql stable
as $function$
  (
    select seq from affiliate.events
    where click_id = p_click_id and destination >= p_destination
      and (destination, seq) < (p_destination, coalesce(p_seq, 9223372036854775807))
    order by destination desc, seq desc limit 1
  )
  union
  (
    select seq from affiliate.events
    where session_id = p_session_id and destination >= p_destination
      and (destination, seq) < (p_destination, coalesce(p_seq, 9223372036854775807))
    order by destination desc, seq desc limit 1
  )
$function$;

-- Makes events, and what they wait for, at least this urgent. One that was never tried counts as newly come. Waits for no lock.
-- Returns those of p_seqs that it has locked.
create function affiliate.raise(p_destination bigint, p_seqs bigint[], p_urgencies smallint[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_seqs bigint[] := p_seqs;
  v_urgencies smallint[] := p_urgencies;
  v_behind bigint[]; -- what waits for each of v_seqs; null at first
  v_locked bigint[];
  v_locked_first bigint[];
begin
  while v_seqs <> '{}' loop
    v_locked := array(select seq from affiliate.events where seq = any (v_seqs) for no key update skip locked);
    v_locked_first := coalesce(v_locked_first, v_locked);
    update affiliate.events set to_enter_from = now()
    where seq = any (array(
      select behind from unnest(v_behind, v_seqs) as pair (behind, before) where before <> all (v_locked)
    ));
    exit when v_locked = '{}';
    with inherited as (
      select before, max(urgency) as urgency from unnest(v_seqs, v_urgencies) as each (before, urgency)
      where before = any (v_locked) group by before
    ), raised as (
      update affiliate.events as event
      set urgency = inherited.urgency, written_at = now(),
          due_at = case when tried or due_at is null then due_at else now() end
      from inherited where event.seq = inherited.before and event.seq = any (v_locked) and event.urgency < inherited.urgency
      returning event.*
    )
    select coalesce(array_agg(raised.seq), '{}'), coalesce(array_agg(before), '{}'), array_agg(urgency)
    into v_behind, v_seqs, v_urgencies
    from raised, lateral affiliate.right_before(p_destination, raised.seq, click_id, session_id) as before;
  end loop;
  return coalesce(v_locked_first, '{}');
end
$function$;

-- Makes what these locked events wait for inherit their priority, and parks them. Returns how many it has parked.
create function affiliate.enter(p_destination bigint, p_seqs bigint[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_behind bigint[];
  v_before bigint[];
  v_urgencies smallint[];
  v_locked bigint[];
  v_unready bigint[];
  v_parked integer := 0;
begin
  select coalesce(array_agg(seq), '{}'), coalesce(array_agg(before), '{}'), array_agg(urgency)
  into v_behind, v_before, v_urgencies
  from affiliate.events, lateral affiliate.right_before(p_destination, seq, click_id, session_id) as before
  where seq = any (p_seqs);
  v_locked := affiliate.raise(p_destination, v_before, v_urgencies);

  -- Another transaction may be about to delete an earlier row that it has locked: the event behind that row is not parked.
  v_unready := array(
    select behind from unnest(v_behind, v_before) as pair (behind, before) where before <> all (v_locked)
  );
  if v_behind <> '{}' then
    update affiliate.events set due_at = null, to_enter_from = null
    where seq = any (v_behind) and seq <> all (v_unready) and (claimed_until is null or claimed_until <= now());
    get diagnostics v_parked = row_count;
  end if;
  -- What is the head of its queue is due from now on: scans have passed the time at which it came.
  update affiliate.events
  set to_enter_from = case when seq = any (v_unready) then now() end,
      due_at = case when seq = any (v_unready) or tried or due_at is null then due_at else now() end
  where seq = any (p_seqs) and (seq <> all (v_behind) or seq = any (v_unready))
    and (to_enter_from is not null) <> (seq = any (v_unready));
  return v_parked;
end
$function$;

-- Moves what was stored since the last claim into its queues, in order. Waits for no lock. Returns since when the first was to
-- enter, in milliseconds since the epoch.
create function affiliate.enter_new(p_destination bigint, p_since timestamptz) returns double precision
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_new bigint[] := array(
    select seq from affiliate.events where destination = p_destination and to_enter_from >= p_since
    order by to_enter_from, seq limit 1000 for update skip locked
  );
  v_first double precision;
begin
  if v_new <> '{}' then
    v_first := (select floor(extract(epoch from to_enter_from) * 1000) from affiliate.events where seq = v_new[1]);
    perform affiliate.enter(p_destination, v_new);
  end if;
  return v_first;
end
$function$;
