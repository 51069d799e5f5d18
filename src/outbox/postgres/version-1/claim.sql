-- Claiming. A row that waits behind an earlier one of its visitor is parked: due_at is null.
-- 1. A claim parks it, and holds the earlier row's lock at that moment.
-- 2. After deleting a row, a second statement, which sees fresh data, unparks the events behind it.
-- So no row is parked for ever, and no parked row is looked at again and again.

-- Claims at most p_limit queue heads, step by step. Waits for no lock. Times in numbers are milliseconds since the epoch.
-- A lease that is over is none, nor is one of this worker that is not in p_held.
-- The last row says from when on the next claim scans: before that are claimed events, and dead index entries, which stay while
-- another session's snapshot is open. A claim without p_at scans from the first event. It finds what was committed late, and what
-- another process has released or abandoned.
create function affiliate.claim(
  p_destination bigint, p_worker uuid, p_lease interval, p_limit integer,
  p_held bigint[], -- the claims that the worker knows of
  p_limits integer[], -- of each lane
  p_steps json, -- the scans to make, the first first
  p_to_enter_since double precision, -- from when on events that have to enter their queues are scanned
  p_at double precision, -- when the last claim was made, which said from when on to scan
  p_now_at_most double precision -- the latest time that the server's clock shows if it was not set lately
) returns table (lane_number integer, claimed affiliate.events, next json)
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_over timestamptz := least(now(), to_timestamp(p_now_at_most / 1000));
  v_now double precision := floor(extract(epoch from now()) * 1000);
  -- Transactions that began earlier may still be open. With a longer time, each claim steps over more dead index entries.
  v_settled double precision := v_now - 500;
  -- After a clock was set back, new rows come before those that were scanned.
  v_is_known boolean := coalesce(to_timestamp(p_at / 1000) <= now(), false);
  v_limits integer[] := p_limits;
  v_held bigint[] := p_held;
  v_left integer := p_limit;
  v_left_of_lane integer;
  v_step record;
  v_since timestamptz;
  v_until timestamptz;
  v_look integer;
  v_found bigint[];
  v_heads bigint[];
  v_behind bigint[];
  v_claimed integer;
  v_parked integer;
  v_first double precision; -- the due time of the first event that a scan finds
  v_entering double precision;
  v_next double precision[] := '{}'; -- of each step; null: as before
begin
  perform affiliate.commit_durably();
  v_entering := affiliate.enter_new(
    p_destination, coalesce(case when v_is_known then to_timestamp(p_to_enter_since / 1000) end, '-infinity')
  );
  for v_step in
    select * from json_to_recordset(p_steps) as step (
      lane integer, urgency smallint, endpoint text, scan text, new_within_ms double precision, since double precision
    )
  loop
    v_since := coalesce(case when v_is_known then to_timestamp(v_step.since / 1000) end, '-infinity');
    v_until := 'infinity';
    if v_step.new_within_ms is not null then
      v_since := greatest(v_since, now() - v_step.new_within_ms * interval '1 millisecond');
      v_until := now();
    end if;
    v_left_of_lane := least(v_limits[v_step.lane], v_left);
    v_look := v_left_of_lane;
    v_first := null;
    v_found := null;
    while v_left_of_lane > 0 loop
      v_found := case v_step.scan
        when 'oldest' then array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and not tried
            and (claimed_until is null or claimed_until <= v_over or claimed_by = p_worker)
            and due_at between v_since and v_until and seq <> all (v_held)
          order by due_at, seq limit v_look for update skip locked
        )
        when 'newest' then array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and not tried
            and (claimed_until is null or claimed_until <= v_over or claimed_by = p_worker)
            and due_at between v_since and v_until and seq <> all (v_held)
          order by due_at desc, seq desc limit v_look for update skip locked
        )
        when 'rested' then array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and tried
            and (claimed_until is null or claimed_until <= v_over or claimed_by = p_worker)
            and due_at between v_since and now() and seq <> all (v_held)
          order by due_at, seq limit v_look for update skip locked
        )
        else array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and tried
            and (claimed_until is null or claimed_until <= v_over or claimed_by = p_worker)
            and due_at > now() and seq <> all (v_held)
          order by due_at, seq limit v_look for update skip locked
        )
      end;
      exit when v_found = '{}';

      select least(v_first, floor(extract(epoch from min(due_at)) * 1000)),
        coalesce(array_agg(seq order by nth) filter (where not is_behind), '{}'),
        coalesce(array_agg(seq order by nth) filter (where is_behind), '{}')
      into v_first, v_heads, v_behind
      from (
        select seq, due_at, nth, exists (
          select from affiliate.right_before(p_destination, seq, click_id, session_id)
        ) as is_behind
        from unnest(v_found) with ordinality as each (candidate, nth)
        join affiliate.events on seq = candidate and seq = any (v_found)
        offset 0 -- so that what is right before is looked up once
      ) as found;

      v_claimed := 0;
      if v_heads <> '{}' then
        -- If this worker has claimed it already, the answer was lost, and nothing was sent: that is no interruption.
        return query
        with turn as (
          update affiliate.events as event
          set interrupted = interrupted or coalesce(claimed_by <> p_worker, false),
              claimed_by = p_worker,
              claimed_until = now() + p_lease,
              written_at = now()
          from unnest(v_heads[1:v_left_of_lane]) with ordinality as head (seq, nth)
          where event.seq = head.seq and event.seq = any (v_heads)
          returning event, nth
        )
        select v_step.lane, event, null::json from turn order by nth;
        get diagnostics v_claimed = row_count;
      end if;
      v_held := v_held || v_heads[1:v_left_of_lane];
      v_left := v_left - v_claimed;
      v_left_of_lane := v_left_of_lane - v_claimed;
      v_limits[v_step.lane] := v_limits[v_step.lane] - v_claimed;

      v_parked := case when v_behind = '{}' then 0 else affiliate.enter(p_destination, v_behind) end;
      -- The scan has come to its end. Had it found events to park, the ones before them may be of this step now.
      exit when v_parked = 0 and (v_claimed = 0 or cardinality(v_found) < v_look);
      v_look := case when v_claimed = 0 then least(v_look * 2, 1000) else v_left_of_lane end;
    end loop;
    -- A scan for the newest says where the first is if there is none. One for new events alone says nothing.
    v_next := v_next || case
      when v_step.new_within_ms is null
        and (v_step.scan in ('oldest', 'rested') and v_found is not null or v_step.scan = 'newest' and v_found = '{}')
      then least(v_settled, v_first)
    end;
    exit when v_left = 0;
  end loop;
  lane_number := null;
  claimed := null;
  next := json_build_object(
    'at', v_now, 'tookMs', extract(epoch from clock_timestamp() - statement_timestamp()) * 1000,
    'toEnter', least(v_settled, v_entering), 'scans', v_next
  );
  return next;
end
$function$;

-- After the server's clock was set back: what was written before that waits from now on as long as it had to wait then.
-- Returns how many events it has set right, or p_number if there may be more.
create function affiliate.set_right(p_destination bigint, p_endpoints text[], p_urgencies smallint[], p_number integer)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  -- Transactions that run at the same time may differ by so much.
  v_now timestamptz := now() + interval '1 second';
  v_resting bigint[] := array(
    select seq
    from unnest(p_endpoints, p_urgencies) as each (endpoint, urgency), lateral (
      select seq from affiliate.events as event
      where destination = p_destination and event.urgency = each.urgency and event.endpoint = each.endpoint and tried
        and due_at > v_now and written_at > v_now
      order by due_at desc limit p_number for update skip locked
    ) as resting
    limit p_number
  );
  v_claimed bigint[] := array(
    select seq from affiliate.events
    where destination = p_destination and claimed_until > v_now and written_at > v_now
    order by claimed_until desc limit p_number for update skip locked
  );
begin
  update affiliate.events
  set due_at = now() + (due_at - written_at), claimed_until = now() + (claimed_until - written_at), written_at = now()
  where seq = any (v_resting || v_claimed);
  return greatest(cardinality(v_resting), cardinality(v_claimed));
end
$function$;
