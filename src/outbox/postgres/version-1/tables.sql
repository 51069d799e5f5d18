-- An id is known from the moment its event is stored until some time after its delivery, in one row of known_ids: there is
-- no moment between two tables at which it could be stored again.

-- If the schema is there already, no right on the database is needed.
do $do$
begin
  if to_regnamespace('affiliate') is null then
    create schema affiliate;
  end if;
end
$do$;

create table affiliate.migrations (
  version integer primary key,
  at      timestamptz not null default now()
);

create table affiliate.events (
  destination   bigint not null,
  seq           bigint generated always as identity primary key,
  id            uuid not null,
  kind          text not null,
  endpoint      text not null,
  click_id      text,
  session_id    text,
  data          json not null,
  created_at    timestamptz not null,
  queued_at     timestamptz not null,
  history       json,
  urgency       smallint not null,
  to_enter_from timestamptz,
  tried         boolean not null default false,
  interrupted   boolean not null default false,
  due_at        timestamptz,
  claimed_by    uuid,
  claimed_until timestamptz,
  written_at    timestamptz not null default now()
) with (
  -- A page keeps space for the row that a claim writes: otherwise the new row would need index entries.
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.5, vacuum_truncate = off
);
comment on table  affiliate.events is 'What waits to be reported, or is under way.';
comment on column affiliate.events.seq is 'The order of a visitor''s events is the order in which they were committed.';
comment on column affiliate.events.history is 'What the attempts at it have taught. Null: there was none.';
comment on column affiliate.events.urgency is
  '3: as urgent as a payment, 2: as a registration, 1: as a click. At least that of its kind; it inherits that of the most urgent event that waits behind it.';
comment on column affiliate.events.to_enter_from is
  'When it came, or came back, if it has to enter its visitor''s queue: the events before it may not have inherited its priority yet. The next claim sees to that. Null: it has entered.';
comment on column affiliate.events.due_at is
  'If it was never tried: since when it is its visitor''s next. If it was tried: the end of its rest. Null while it waits behind an earlier event of its visitor.';
comment on column affiliate.events.claimed_by is 'The process that has it, or had it when it died.';
comment on column affiliate.events.claimed_until is 'When the lease of the process that has it ends. Null: any process may claim it.';
comment on column affiliate.events.written_at is
  'When due_at or claimed_until was written. In the future: the server''s clock has been set back since.';

-- One index serves each statement, and no second one. The functions turn other plans off (enable_...): a table that is empty now
-- may soon hold a million rows, or as many dead ones under another session's snapshot, and stale statistics mislead the planner. A
-- claim and a renewed lease write columns that are in no index, so they add no index entry.
create index events_due on affiliate.events (destination, urgency, endpoint, tried, due_at, seq)
  where due_at is not null;
create index events_to_enter on affiliate.events (destination, to_enter_from, seq) where to_enter_from is not null;
-- The condition is true of each event. Only a statement that has it as well uses this index.
create index events_shed on affiliate.events (destination, urgency, seq) where urgency + 0 > 0;
create index events_click on affiliate.events (click_id, destination, seq) where click_id is not null;
create index events_session on affiliate.events (session_id, destination, seq) where session_id is not null;

create table affiliate.known_ids (
  destination  bigint not null,
  id           uuid not null,
  kind         text not null,
  reported_at  timestamptz not null,
  delivered_at timestamptz,
  cancelled    boolean not null default false,
  primary key (destination, id)
) with (
  -- Space for delivered_at to be written beside the row, without touching an index.
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05
);
comment on table affiliate.known_ids is 'What was reported already, so that it is not reported again.';
comment on column affiliate.known_ids.reported_at is 'By the reporting host''s clock. With it a report is known again whose answer was lost.';
comment on column affiliate.known_ids.cancelled is 'A payment that was cancelled while it was scheduled.';
create index known_ids_reported on affiliate.known_ids (kind, reported_at);

create table affiliate.dead_letters (
  destination bigint not null,
  seq         bigint generated always as identity,
  id          uuid not null,
  kind        text not null,
  endpoint    text not null,
  click_id    text,
  session_id  text,
  data        json not null,
  created_at  timestamptz not null,
  history     json,
  reason      text not null,
  death       json not null,
  died_at     timestamptz not null default now(),
  size        integer not null generated always as (octet_length(data::text) + octet_length(death::text)) stored,
  primary key (destination, kind, seq),
  unique (destination, id)
);
comment on table affiliate.dead_letters is 'What was given up, until it is retried or discarded.';

create table affiliate.scheduled (
  destination bigint not null,
  id          uuid not null,
  not_before  timestamptz not null,
  data        json not null,
  created_at  timestamptz not null,
  primary key (destination, id)
);
comment on table affiliate.scheduled is 'Payments that wait for their notBefore, in no queue.';
create index scheduled_due on affiliate.scheduled (destination, not_before);

create table affiliate.circuits (
  destination bigint not null,
  endpoint    text not null,
  circuit     text not null,
  primary key (destination, endpoint)
);
comment on table affiliate.circuits is
  'Endpoints that leave payments without an answer, as all processes know them together. JSON, in a text: a process writes it only where it still reads as it has read it.';

create table affiliate.clock (at timestamptz, written_at timestamptz);
comment on table affiliate.clock is
  'The time by which delivered ids are forgotten: it follows the server''s, never goes back, and goes ahead in small steps. One row; null before the first look at it.';
comment on column affiliate.clock.written_at is 'The server''s time when at was written.';
insert into affiliate.clock values (null, null);
