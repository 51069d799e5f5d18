-- Settling. Each statement of a function sees what was committed before it began.

-- It is the turn of the next event of each of these visitors, if it was waiting for nothing else.
create function affiliate.promote(p_click_ids text[], p_session_ids text[]) returns void
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_next bigint[];
begin
  v_next := array(
    select seq from affiliate.events
    where seq in (
      select (select seq from affiliate.events where click_id = visitor order by seq limit 1)
      from unnest(p_click_ids) as visitor
      union
      select (select seq from affiliate.events where session_id = visitor order by seq limit 1)
      from unnest(p_session_ids) as visitor
    )
    order by seq
    for update
  );
  -- A new statement: with the locks in hand it sees what whoever had them before has written.
  update affiliate.events set due_at = now() where seq = any (v_next) and due_at is null;
end
$function$;

-- Acts on verdicts, one for each claim: delivered, retry, kept, or the reason of a death. A delivery counts whoever tells
-- of it; the rest is the word of the claim's owner.
create function affiliate.settle(
  p_worker uuid, p_seqs bigint[], p_ids uuid[], p_verdicts text[],
  p_in_ms double precision[], p_maybe_taken boolean[], p_deaths text[]
) returns setof bigint -- the seqs of what was removed
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
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
    delete from affiliate.events as event using verdict
    where event.seq = verdict.seq
      and (is_ = 'delivered' or is_ not in ('retry', 'kept') and event.claimed_by = p_worker)
    returning event.*, verdict.is_, verdict.death
  ), buried as (
    insert into affiliate.dead_letters (id, kind, click_id, session_id, data, created_at, maybe_taken, reason, death)
    select id, kind, click_id, session_id, data, created_at, maybe_taken, is_, death::json
    from removed where is_ <> 'delivered' order by seq
  )
  select coalesce(array_agg(seq), '{}'), array_agg(click_id), array_agg(session_id)
  into v_removed, v_click_ids, v_session_ids from removed;

  update affiliate.known_ids set delivered_at = now() where id = any (v_delivered);
  delete from affiliate.dead_letters where id = any (v_delivered);

  update affiliate.events as event
  set claimed_by = null,
      maybe_taken = verdict.maybe_taken,
      interrupted = interrupted and is_ = 'kept',
      attempts = attempts + (is_ = 'retry')::integer,
      due_at = now() + in_ms * interval '1 millisecond'
  from unnest(p_seqs, p_verdicts, p_in_ms, p_maybe_taken) as verdict (seq, is_, in_ms, maybe_taken)
  where event.seq = verdict.seq and event.claimed_by = p_worker and is_ in ('retry', 'kept');

  if v_removed <> '{}' then
    perform affiliate.promote(v_click_ids, v_session_ids);
  end if;
  return query select unnest(v_removed);
end
$function$;
