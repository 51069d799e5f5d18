-- Settling. Each statement of a function sees what was committed before it began.

-- Makes the commit of an own transaction wait for the disk, whatever the server's default is. A stronger setting stays.
create function affiliate.commit_durably() returns void
language sql
as $function$
  select set_config('synchronous_commit', 'on', true)
  where current_setting('synchronous_commit') not in ('on', 'remote_apply')
$function$;

-- The time from which a delivered id is remembered. It is not in the past if the server's clock was set back.
create function affiliate.delivery_time() returns timestamptz
language sql stable
as $function$
  select greatest(now(), (select at from affiliate.clock))
$function$;

-- Locks the next event of each of these visitors, in one order for every caller.
create function affiliate.lock_next(p_destination bigint, p_click_ids text[], p_session_ids text[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_next bigint[] := array_remove(array(
    select (
      select seq from affiliate.events
      where click_id = visitor and destination between p_destination and p_destination order by destination, seq limit 1
    )
    from unnest(p_click_ids) as visitor
    union
    select (
      select seq from affiliate.events
      where session_id = visitor and destination between p_destination and p_destination order by destination, seq limit 1
    )
    from unnest(p_session_ids) as visitor
  ), null);
begin
  return case when v_next = '{}' then v_next
    else array(select seq from affiliate.events where seq = any (v_next) order by seq for update) end;
end
$function$;

-- Makes the next event of each of these visitors due, if it waits for no other.
create function affiliate.promote(p_destination bigint, p_click_ids text[], p_session_ids text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_next bigint[] := affiliate.lock_next(p_destination, p_click_ids, p_session_ids);
begin
  -- A new statement: with the locks it sees what the transactions that had them before have written.
  if v_next <> '{}' then
    update affiliate.events set due_at = now(), written_at = now() where seq = any (v_next) and due_at is null;
  end if;
end
$function$;

-- Acts on verdicts, one for each claim: delivered, retry, release, or the reason of a death. A delivery counts from any
-- process; any other verdict from the claim's owner alone.
create function affiliate.settle(
  p_destination bigint, p_worker uuid, p_seqs bigint[], p_ids uuid[], p_verdicts text[],
  p_in_ms double precision[], p_histories text[], p_deaths text[]
) returns setof bigint -- the seqs of what was removed
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_removed bigint[];
  v_click_ids text[];
  v_session_ids text[];
  v_delivered uuid[] := array(
    select id from unnest(p_ids, p_verdicts) as verdict (id, verdict) where verdict = 'delivered'
  );
begin
  perform affiliate.commit_durably();
  with settled as (
    select * from unnest(p_seqs, p_verdicts, p_deaths) as settled (seq, verdict, death) order by seq
  ), removed as (
    delete from affiliate.events as event using settled
    where event.seq = settled.seq and event.seq = any (p_seqs)
      and (verdict = 'delivered' or verdict not in ('retry', 'release') and event.claimed_by = p_worker)
    returning event.*, verdict, death
  ), given_up as (
    insert into affiliate.dead_letters
      (destination, id, kind, endpoint, click_id, session_id, data, created_at, history, reason, death)
    select destination, id, kind, endpoint, click_id, session_id, data, created_at, history, verdict, death::json
    from removed where verdict <> 'delivered' order by seq
  )
  select coalesce(array_agg(seq), '{}'), array_agg(click_id), array_agg(session_id)
  into v_removed, v_click_ids, v_session_ids from removed;

  update affiliate.known_ids set delivered_at = affiliate.delivery_time() where destination = p_destination and id = any (v_delivered);
  delete from affiliate.dead_letters where destination = p_destination and id = any (v_delivered);

  update affiliate.events as event
  set claimed_by = null,
      claimed_until = null,
      history = case when verdict = 'retry' then settled.history::json else event.history end,
      tried = tried or verdict = 'retry',
      interrupted = interrupted and verdict = 'release',
      due_at = case when verdict = 'retry' then now() + in_ms * interval '1 millisecond' else due_at end,
      written_at = now()
  from unnest(p_seqs, p_verdicts, p_in_ms, p_histories) as settled (seq, verdict, in_ms, history)
  where event.seq = settled.seq and event.seq = any (p_seqs) and event.claimed_by = p_worker
    and verdict in ('retry', 'release');

  if v_removed <> '{}' then
    perform affiliate.promote(p_destination, v_click_ids, v_session_ids);
  end if;
  return query select unnest(v_removed);
end
$function$;
