-- Bounds.

-- Sheds: removes the oldest events of an urgency that no process has, and forgets them. Before that, it raises the
-- urgency of the events for which an event with these ids and this urgency will wait.
create function affiliate.shed(
  p_destination bigint, p_urgency smallint, p_number integer,
  p_coming_urgency smallint, p_coming_click_id text, p_coming_session_id text
) returns setof affiliate.events
language plpgsql
-- The plan does not follow the statistics, which may be stale: the indexes were made for these statements.
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_before bigint[] := array(
    select affiliate.right_before(p_destination, null, p_coming_click_id, p_coming_session_id)
  );
  v_oldest bigint[];
  v_shed affiliate.events[];
begin
  perform affiliate.commit_durably();
  perform affiliate.line_up_new(p_destination, '-infinity');
  perform affiliate.raise(p_destination, v_before, array_fill(p_coming_urgency, array[cardinality(v_before)]));
  v_oldest := array(
    select seq from affiliate.events
    where destination = p_destination and urgency between p_urgency and p_urgency and claimed_by is null
    order by urgency, seq limit p_number for update skip locked
  );
  with removed as (
    delete from affiliate.events where seq = any (v_oldest) returning *
  ), forgotten as (
    delete from affiliate.known_ids as known using removed
    where known.destination = p_destination and known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_shed from removed;
  perform affiliate.promote(p_destination, array_agg(click_id), array_agg(session_id)) from unnest(v_shed);
  return query select * from unnest(v_shed) order by seq;
end
$function$;

-- Removes the oldest clicks of a visitor that no process has, and forgets them, until at most p_most are left. A visitor is a
-- session; where there is none, a click id without one.
create function affiliate.shed_clicks(p_destination bigint, p_click_id text, p_session_id text, p_most integer)
returns setof affiliate.events
language plpgsql
-- The plan does not follow the statistics, which may be stale: the indexes were made for these statements.
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $function$
declare
  v_clicks bigint[];
  v_oldest bigint[];
  v_shed affiliate.events[];
begin
  perform affiliate.commit_durably();
  if p_session_id is null then
    v_clicks := array(
      select seq from affiliate.events
      where click_id = p_click_id and destination between p_destination and p_destination and session_id is null and kind = 'click'
      order by destination, seq
    );
  else
    v_clicks := array(
      select seq from affiliate.events
      where session_id = p_session_id and destination between p_destination and p_destination and kind = 'click'
      order by destination, seq
    );
  end if;
  v_oldest := array(
    select seq from affiliate.events
    where seq = any (v_clicks) and claimed_by is null
    order by seq limit greatest(0, cardinality(v_clicks) - p_most)
  );
  if v_oldest = '{}' then
    return;
  end if;

  -- The visitor's next first, as settling does: so that the two do not wait for each other.
  perform affiliate.lock_next(p_destination, array_agg(click_id), array_agg(session_id))
  from affiliate.events where seq = any (v_oldest);
  with removed as (
    delete from affiliate.events where seq = any (v_oldest) and claimed_by is null returning *
  ), forgotten as (
    delete from affiliate.known_ids as known using removed
    where known.destination = p_destination and known.id = removed.id
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_shed from removed;
  perform affiliate.promote(p_destination, array_agg(click_id), array_agg(session_id)) from unnest(v_shed);
  return query select * from unnest(v_shed) order by seq;
end
$function$;
