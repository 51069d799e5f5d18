-- Claiming. A row that waits behind an earlier one of its visitor is parked (due_at is null) by somebody who holds the earlier
-- row's lock at that moment; whoever removes a row looks, in a statement that begins once it has the row's lock, for what
-- waited behind it. So no row is parked for ever, and nobody looks at a parked one again and again.

-- Hands out at most p_room events whose turn it is. Waits for nobody.
create function affiliate.claim(p_worker uuid, p_room integer, p_lease interval) returns setof affiliate.events
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
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
      select seq from affiliate.events
      where due_at <= now()
      order by due_at, seq
      limit v_look
      for update skip locked
    );
    exit when v_found = '{}';

    with found as materialized (
      select event.seq, coalesce(
        (select seq from affiliate.events where click_id = event.click_id and seq < event.seq order by seq limit 1),
        (select seq from affiliate.events where session_id = event.session_id and seq < event.seq order by seq limit 1)
      ) as before
      from affiliate.events as event
      where event.seq = any (v_found)
    )
    select
      coalesce(array_agg(seq order by seq) filter (where before is null), '{}'),
      coalesce(array_agg(seq order by seq) filter (where before is not null), '{}'),
      coalesce(array_agg(before order by seq) filter (where before is not null), '{}')
    into v_heads, v_behind, v_before
    from found;

    return query
    update affiliate.events
    set interrupted = interrupted or claimed_by is not null, claimed_by = p_worker, due_at = now() + p_lease
    where seq = any (v_heads[1:v_room])
    returning *;
    get diagnostics v_claimed = row_count;
    v_room := v_room - v_claimed;

    -- An earlier row whose lock is somebody else's may be on its way out: what waits for it stays as it is, and is found again.
    v_held := array(select seq from affiliate.events where seq = any (v_before) for key share skip locked);
    update affiliate.events set due_at = null
    from unnest(v_behind, v_before) as pair (behind, before)
    where seq = behind and before = any (v_held);
    get diagnostics v_parked = row_count;

    exit when v_claimed = 0 and v_parked = 0;
    v_look := case when v_claimed = 0 then least(v_look * 2, 1000) else v_room end;
  end loop;
end
$function$;
