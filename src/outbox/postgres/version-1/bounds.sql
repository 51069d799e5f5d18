-- Making room, and dead letters that are queued again.

-- Makes room: removes the oldest events of a kind that nobody has, and forgets them.
create function affiliate.shed(p_kind text, p_number integer) returns setof affiliate.events
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_shed affiliate.events[];
begin
  with oldest as (
    select seq from affiliate.events
    where kind = p_kind and claimed_by is null order by seq limit p_number for update skip locked
  ), removed as (
    delete from affiliate.events as event using oldest where event.seq = oldest.seq returning event.*
  ), forgotten as (
    delete from affiliate.known_ids as known using removed where known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_shed from removed;
  perform affiliate.promote(array_agg(click_id), array_agg(session_id)) from unnest(v_shed);
  return query select * from unnest(v_shed) order by seq;
end
$function$;

-- Queues dead letters again, each as the last of its visitor's.
create function affiliate.revive(p_ids uuid[]) returns setof affiliate.dead_letters
language plpgsql
-- Whatever the statistics say, or however stale they are: the indexes were made for these statements.
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
begin
  perform pg_advisory_xact_lock(key)
  from affiliate.lock_keys(
    p_ids,
    array(select click_id from affiliate.dead_letters where id = any (p_ids)),
    array(select session_id from affiliate.dead_letters where id = any (p_ids))
  ) as key;
  return query
  with risen as (
    delete from affiliate.dead_letters where id = any (p_ids) returning *
  ), stored as (
    insert into affiliate.events (id, kind, click_id, session_id, data, created_at, queued_at, maybe_taken)
    select id, kind, click_id, session_id, data, created_at, now(), maybe_taken or reason = 'unconfirmed'
    from risen order by created_at, seq
  )
  select * from risen;
end
$function$;
