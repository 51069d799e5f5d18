-- Claiming. A row that waits behind an earlier one of its visitor is parked (due_at is null) by a claim that holds the earlier
-- row's lock at that moment; a transaction that removes a row looks, in a statement that begins once it has the row's lock, for
-- what waited behind it. So no row is parked for ever, and no parked row is looked at again and again.

-- Claims at most p_limit heads of queues, step by step. Waits for no lock. Where rows are joined by seq, here and in
-- all that follows, `seq = any` has them found by the primary key, although the statistics may say that there are next to none.
create function affiliate.claim(
  p_destination bigint, p_worker uuid, p_lease interval, p_limit integer,
  p_held bigint[], -- the claims that the worker knows of
  p_limits integer[], -- of each lane
  p_steps json, -- the scans to make, the first first; times are in milliseconds since the epoch
  p_lined_up_to double precision, -- from where the events that have to line up are to be scanned
  p_swept_at double precision -- when the last sweep found that nothing older was due
) returns table (lane_number integer, claimed affiliate.events)
language plpgsql
-- The plan does not follow the statistics, which may be stale: the indexes were made for these statements.
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_limits integer[] := p_limits;
  v_left integer := p_limit;
  v_left_of_lane integer;
  -- After a clock was set back, new rows come before those that were scanned.
  v_is_known boolean := coalesce(to_timestamp(p_swept_at / 1000) <= now(), false);
  v_step record;
  v_since timestamptz;
  v_until timestamptz;
  v_look integer;
  v_found bigint[];
  v_heads bigint[];
  v_behind bigint[];
  v_claimed integer;
  v_parked integer;
begin
  perform affiliate.commit_durably();
  perform affiliate.line_up_new(
    p_destination, coalesce(case when v_is_known then to_timestamp(p_lined_up_to / 1000) end, '-infinity')
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
    while v_left_of_lane > 0 loop
      v_found := case v_step.scan
        when 'oldest' then array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and not tried
            and claimed_until is null and due_at between v_since and v_until and seq <> all (p_held)
          order by due_at, seq limit v_look for update skip locked
        )
        when 'newest' then array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and not tried
            and claimed_until is null and due_at between v_since and v_until and seq <> all (p_held)
          order by due_at desc, seq desc limit v_look for update skip locked
        )
        when 'rested' then array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and tried
            and claimed_until is null and due_at between v_since and now() and seq <> all (p_held)
          order by due_at, seq limit v_look for update skip locked
        )
        else array(
          select seq from affiliate.events
          where destination = p_destination and urgency = v_step.urgency and endpoint = v_step.endpoint and tried
            and claimed_until is null and due_at > now() and seq <> all (p_held)
          order by due_at, seq limit v_look for update skip locked
        )
      end;
      exit when v_found = '{}';

      select
        coalesce(array_agg(seq order by nth) filter (where not is_behind), '{}'),
        coalesce(array_agg(seq order by nth) filter (where is_behind), '{}')
      into v_heads, v_behind
      from (
        select seq, nth, exists (
          select from affiliate.right_before(p_destination, seq, click_id, session_id)
        ) as is_behind
        from unnest(v_found) with ordinality as each (candidate, nth)
        join affiliate.events on seq = candidate and seq = any (v_found)
        offset 0 -- so that what is right before is looked up once
      ) as found;

      -- If this worker has claimed it already, the answer to that claim was lost, and nothing was sent.
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
      select v_step.lane, event from turn order by nth;
      get diagnostics v_claimed = row_count;
      v_left := v_left - v_claimed;
      v_left_of_lane := v_left_of_lane - v_claimed;
      v_limits[v_step.lane] := v_limits[v_step.lane] - v_claimed;

      v_parked := case when v_behind = '{}' then 0 else affiliate.line_up(p_destination, v_behind) end;
      -- The scan has come to its end. Had it found events to park, the ones before them may be of this step now.
      exit when v_parked = 0 and (v_claimed = 0 or cardinality(v_found) < v_look);
      v_look := case when v_claimed = 0 then least(v_look * 2, 1000) else v_left_of_lane end;
    end loop;
    exit when v_left = 0;
  end loop;
end
$function$;

-- Finds out from where a claim need not scan: the dead rows before that time stay there for as long as another session's snapshot
-- is open, and each claim would step over them. A full sweep scans from the first row, and ends the leases that are over. A short
-- one begins where the last sweep ended: a row that was committed late, or that another process has given back, waits for a full
-- one. p_now_at_most is what the server's clock shows at the latest, had it not been set lately; the times are in milliseconds
-- since the epoch.
create function affiliate.sweep(
  p_destination bigint, p_now_at_most double precision,
  p_endpoints text[], p_urgencies smallint[], -- the endpoints, each with each urgency that its events can have
  p_from json, -- of a short sweep: the time from which each scan begins, by its name
  p_swept_at double precision -- when the last sweep was made
) returns table (scan text, since double precision, swept_at double precision, took_ms double precision)
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  -- Transactions that began earlier may still be open. A longer time has each claim step over more dead rows.
  v_settled timestamptz := now() - interval '500 milliseconds';
  -- After a clock was set back, new rows come before those that were scanned.
  v_from json := case when to_timestamp(p_swept_at / 1000) <= now() then p_from end;
begin
  perform affiliate.commit_durably();
  if p_from is null then
    -- A claim stays its process's as long as no other takes the event.
    update affiliate.events set claimed_until = null, written_at = now()
    where seq = any (array(
      select seq from affiliate.events
      where destination = p_destination and claimed_until <= least(now(), to_timestamp(p_now_at_most / 1000))
      order by claimed_until limit 1000 for update skip locked
    ));
  end if;

  return query
  select name, floor(extract(epoch from least(v_settled, oldest)) * 1000)::double precision,
    floor(extract(epoch from now()) * 1000)::double precision,
    (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::double precision
  from (
    select name, (
      select due_at from affiliate.events as event
      where destination = p_destination and event.urgency = each.urgency and event.endpoint = each.endpoint
        and event.tried = was_tried and claimed_until is null
        and due_at >= coalesce(to_timestamp((v_from ->> name)::double precision / 1000), '-infinity')
      order by due_at, seq limit 1
    )
    from unnest(p_endpoints, p_urgencies) as each (endpoint, urgency), unnest(array[false, true]) as was_tried,
      concat_ws(' ', each.endpoint, each.urgency, was_tried::text) as name
    union all
    select 'lines up', (
      select written_at from affiliate.events
      where destination = p_destination and lines_up
        and written_at >= coalesce(to_timestamp((v_from ->> 'lines up')::double precision / 1000), '-infinity')
      order by written_at, seq limit 1
    )
  ) as found (name, oldest);
end
$function$;

-- After the server's clock was set back: what was written before that waits as long from now on as it was to wait then.
-- Returns how many events it has set right, or p_number where there may be more.
create function affiliate.set_right(p_destination bigint, p_endpoints text[], p_urgencies smallint[], p_number integer)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  -- By as much, transactions that run at the same time may differ.
  v_now timestamptz := now() + interval '1 second';
  v_resting bigint[] := array(
    select seq
    from unnest(p_endpoints, p_urgencies) as each (endpoint, urgency), lateral (
      select seq from affiliate.events as event
      where destination = p_destination and event.urgency = each.urgency and event.endpoint = each.endpoint and tried
        and claimed_until is null and due_at > v_now and written_at > v_now
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
