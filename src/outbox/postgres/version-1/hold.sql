-- After a restore: makes unconfirmed dead letters of the oldest payments that wait, claimed or not. Returns how many.
create function affiliate.hold(p_death jsonb, p_number integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  v_held affiliate.events[];
begin
  perform affiliate.commit_durably();
  with waiting as (
    select destination, seq from affiliate.events where kind = 'payment' order by seq limit p_number for update
  ), removed as (
    delete from affiliate.events as event using waiting
    where event.destination = waiting.destination and event.seq = waiting.seq returning event.*
  ), given_up as (
    insert into affiliate.dead_letters
      (destination, id, kind, endpoint, click_id, session_id, data, created_at, history, reason, death)
    select destination, id, kind, endpoint, click_id, session_id, data, created_at, history, p_death ->> 'reason',
      (p_death || jsonb_build_object('attempts', coalesce((history ->> 'attempts')::integer, 0)))::json
    from removed order by seq
  )
  select coalesce(array_agg(removed::affiliate.events order by seq), '{}') into v_held from removed;
  perform affiliate.promote(destination, array_agg(click_id), array_agg(session_id)) from unnest(v_held) group by destination;
  return cardinality(v_held);
end
$function$;
