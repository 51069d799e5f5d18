-- Removes those of these events that no process has claimed, and forgets their ids. Returns them, in order.
create function affiliate.forget(p_destination bigint, p_seqs bigint[]) returns setof affiliate.events
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_gone affiliate.events[];
begin
  with removed as (
    delete from affiliate.events where seq = any (p_seqs) and claimed_by is null returning *
  ), forgotten as (
    delete from affiliate.known_ids as known using removed
    where known.destination = p_destination and known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_gone from removed;
  perform affiliate.promote(p_destination, array_agg(click_id), array_agg(session_id)) from unnest(v_gone);
  return query select * from unnest(v_gone) order by seq;
end
$function$;

-- Removes the oldest unclaimed event of an urgency, and forgets it. Before that, the events that the coming one will wait for
-- inherit its priority.
create function affiliate.shed(
  p_destination bigint, p_urgency smallint,
  p_coming_urgency smallint, p_coming_click_id text, p_coming_session_id text
) returns setof affiliate.events
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_before bigint[] := array(
    select affiliate.right_before(p_destination, null, p_coming_click_id, p_coming_session_id)
  );
begin
  perform affiliate.commit_durably();
  perform affiliate.enter_new(p_destination, '-infinity');
  perform affiliate.raise(p_destination, v_before, array_fill(p_coming_urgency, array[cardinality(v_before)]));
  return query select * from affiliate.forget(p_destination, array(
    select seq from affiliate.events
    where destination = p_destination and urgency between p_urgency and p_urgency and urgency + 0 > 0 and claimed_by is null
    order by urgency, seq limit 1 for update skip locked
  ));
end
$function$;

-- Removes a visitor's oldest unclaimed clicks, and forgets them, until at most p_most are left.
create function affiliate.shed_clicks(p_destination bigint, p_click_id text, p_session_id text, p_most integer)
returns setof affiliate.events
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_clicks bigint[] := array(select affiliate.clicks_of(p_destination, p_click_id, p_session_id));
  v_oldest bigint[] := array(
    select seq from affiliate.events
    where seq = any (v_clicks) and claimed_by is null
    order by seq limit greatest(0, cardinality(v_clicks) - p_most)
  );
begin
  perform affiliate.commit_durably();
  if v_oldest <> '{}' then
    -- The visitor's next first, as settling does: so that the two do not wait for each other.
    perform affiliate.lock_next(p_destination, array_agg(click_id), array_agg(session_id))
    from affiliate.events where seq = any (v_oldest);
    return query select * from affiliate.forget(p_destination, v_oldest);
  end if;
end
$function$;
