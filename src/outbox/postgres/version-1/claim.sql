-- Claiming. A row that waits behind an earlier one of its visitor is parked (due_at is null) by a claim that holds the earlier
-- row's lock at that moment; a transaction that removes a row looks, in a statement that begins once it has the row's lock, for
-- what waited behind it. So no row is parked for ever, and no parked row is looked at again and again.

-- Hands out at most p_limit events whose turn it is: lane by lane, each lane being the elements of the arrays at one place.
-- In a lane first those that were never tried, then those that have rested, then, where it says so, those that rest. Waits
-- for no lock.
create function affiliate.claim(
  p_destination bigint, p_worker uuid, p_lease interval, p_limit integer,
  p_held bigint[], -- what the worker knows that it has
  p_endpoints text[], p_limits integer[], p_newest_first boolean[], p_new_within_ms double precision[], p_even_resting boolean[]
) returns table (lane_number integer, claimed affiliate.events)
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_left integer := p_limit;
  v_left_of_lane integer;
  v_endpoint text;
  v_since timestamptz;
  v_which text;
  v_look integer;
  v_found bigint[];
  v_heads bigint[];
  v_behind bigint[]; -- rows that wait ...
  v_before bigint[]; -- ... and the row that each of them waits for
  v_held bigint[];
  v_claimed integer;
  v_parked integer;
begin
  for v_lane in 1 .. cardinality(p_endpoints) loop
    v_endpoint := p_endpoints[v_lane];
    v_since := coalesce(now() - p_new_within_ms[v_lane] * interval '1 millisecond', '-infinity');
    v_left_of_lane := least(p_limits[v_lane], v_left);
    foreach v_which in array array[
      case when p_newest_first[v_lane] then 'newest' else 'oldest' end,
      case when p_new_within_ms[v_lane] is null then 'rested' end,
      case when p_new_within_ms[v_lane] is null and p_even_resting[v_lane] then 'resting' end
    ] loop
      v_look := v_left_of_lane;
      while v_left_of_lane > 0 and v_which is not null loop
        -- A claim of this worker's own whose lease has ended is still its own, as long as no other has it.
        v_found := case v_which
          when 'oldest' then array(
            select seq from affiliate.events
            where destination = p_destination and endpoint = v_endpoint and not tried
              and due_at between v_since and now() and seq <> all (p_held)
            order by due_at, seq limit v_look for update skip locked
          )
          when 'newest' then array(
            select seq from affiliate.events
            where destination = p_destination and endpoint = v_endpoint and not tried
              and due_at between v_since and now() and seq <> all (p_held)
            order by due_at desc, seq desc limit v_look for update skip locked
          )
          when 'rested' then array(
            select seq from affiliate.events
            where destination = p_destination and endpoint = v_endpoint and tried
              and due_at <= now() and seq <> all (p_held)
            order by due_at, seq limit v_look for update skip locked
          )
          else array(
            select seq from affiliate.events
            where destination = p_destination and endpoint = v_endpoint and tried
              and due_at > now() and claimed_by is null
            order by due_at, seq limit v_look for update skip locked
          )
        end;
        exit when v_found = '{}';

        with found as materialized (
          select event.seq, nth, coalesce(
            (
              select seq from affiliate.events
              where destination = p_destination and click_id = event.click_id and seq < event.seq order by seq limit 1
            ),
            (
              select seq from affiliate.events
              where destination = p_destination and session_id = event.session_id and seq < event.seq order by seq limit 1
            )
          ) as before
          from unnest(v_found) with ordinality as each (candidate, nth)
          join affiliate.events as event on destination = p_destination and seq = candidate
        )
        select
          coalesce(array_agg(seq order by nth) filter (where before is null), '{}'),
          coalesce(array_agg(seq order by nth) filter (where before is not null), '{}'),
          coalesce(array_agg(before order by nth) filter (where before is not null), '{}')
        into v_heads, v_behind, v_before
        from found;

        -- What this worker has without knowing it, for the answer was lost, was not sent.
        return query
        with turn as (
          update affiliate.events as event
          set interrupted = interrupted or coalesce(claimed_by <> p_worker, false),
              claimed_by = p_worker,
              due_at = now() + p_lease
          from unnest(v_heads[1:v_left_of_lane]) with ordinality as head (seq, nth)
          where destination = p_destination and event.seq = head.seq
          returning event, nth
        )
        select v_lane, event from turn order by nth;
        get diagnostics v_claimed = row_count;
        v_left := v_left - v_claimed;
        v_left_of_lane := v_left_of_lane - v_claimed;

        -- An earlier row that another transaction has locked may be on its way out: what waits for it stays as it is, and is
        -- found again.
        v_held := array(
          select seq from affiliate.events
          where destination = p_destination and seq = any (v_before) for key share skip locked
        );
        update affiliate.events set due_at = null
        from unnest(v_behind, v_before) as pair (behind, before)
        where destination = p_destination and seq = behind and before = any (v_held);
        get diagnostics v_parked = row_count;

        exit when v_claimed = 0 and v_parked = 0;
        v_look := case when v_claimed = 0 then least(v_look * 2, 1000) else v_left_of_lane end;
      end loop;
    end loop;
  end loop;
end
$function$;
