/** The n-th step leads to version n. A published step never changes; new ones are added. */
export const MIGRATIONS: readonly string[] = [
  `
  create table events (
    seq integer primary key,        -- the order in which they came
    destination integer not null,   -- the client id
    id text not null,
    kind text not null,
    endpoint text not null,
    -- 3: a payment's; 2: a registration's; 1: a click's. That of the most urgent event behind it, once both are in a queue.
    urgency integer not null,
    click_id text,
    session_id text,
    data text not null,             -- JSON
    created_at integer not null,    -- this and every time below: milliseconds since the epoch
    queued_at integer not null,
    size integer not null,
    history text,                   -- JSON; null: never tried, and nothing known of it
    interrupted integer not null default 0,
    -- Where it is in its visitor's queue. A claim changes nothing here: state.claims says what is claimed.
    --   new      in no queue yet; one that was claimed meanwhile never enters one
    --   behind   waits for an earlier event of its visitor
    --   ready    the head of its queue, never tried; ready_at: since when it is, or has its urgency
    --   tried    the head of its queue, after an attempt; ready_at: when it may be tried again
    state text not null default 'new',
    ready_at integer
  ) strict;
  create index events_ready on events (destination, endpoint, urgency, ready_at) where state = 'ready';
  create index events_tried on events (destination, endpoint, urgency, ready_at) where state = 'tried';
  create index events_resting on events (destination, ready_at) where state = 'tried';
  create index events_urgencies on events (destination, urgency, kind);
  create index events_clicks on events (destination, coalesce(session_id, click_id)) where kind = 'click';
  -- The visitors' queues.
  create index events_by_click on events (destination, click_id) where state <> 'new' and click_id is not null;
  create index events_by_session on events (destination, session_id) where state <> 'new' and session_id is not null;
  create index events_behind on events (state) where state = 'behind';

  -- Payments that wait for their notBefore, in no queue.
  create table scheduled (
    seq integer primary key,
    destination integer not null,
    id text not null,
    not_before integer not null,
    created_at integer not null,
    size integer not null,
    data text not null,
    unique (id, destination)
  ) strict;
  create index scheduled_due on scheduled (destination, not_before);

  create table dead_letters (
    seq integer primary key,
    destination integer not null,
    id text not null,
    kind text not null,
    created_at integer not null,
    size integer not null,
    attempts integer not null,
    history text,
    reason text not null,
    status integer,
    code text,
    message text,
    died_at integer not null,
    amount real,                    -- of a payment
    data text not null,             -- JSON; the last: what is before it is read without it
    unique (id, destination)
  ) strict;
  create index dead_letters_meant on dead_letters (destination, kind, reason);

  -- Events whose rows cannot be read, for a person to look at.
  create table unreadable (
    seq integer primary key,
    destination integer not null,
    id text not null,
    kind text not null,
    data text not null,
    created_at integer not null,
    history text,
    found_at integer not null
  ) strict;

  -- What the service has. The column "at" counts as state.in_use_ms does.
  create table delivered (
    seq integer primary key, destination integer not null, kind text not null, id text not null, at integer not null,
    cancelled integer not null default 0 -- 1: a payment that was cancelled while it was scheduled
  ) strict;
  create index delivered_kinds on delivered (kind);
  create index delivered_cancelled on delivered (id, destination) where cancelled = 1;

  -- The ids of all of them, in three sizes of table. Without rowid: a statement tells the last one, and 64 bits are more
  -- than a number of JavaScript holds.
  create table ids_new (destination integer, id integer, primary key (destination, id)) strict, without rowid;
  create table ids_young (destination integer, id integer, primary key (destination, id)) strict, without rowid;
  create table ids_old (destination integer, id integer, primary key (destination, id)) strict, without rowid;

  -- Endpoints that leave payments without an answer, as all processes know them together. JSON.
  create table circuits (
    destination integer not null, endpoint text not null, circuit text not null, primary key (destination, endpoint)
  ) strict, without rowid;

  -- What each transaction needs to know, and would have to look for otherwise: one row, read again where another process wrote.
  create table state (
    last_seq integer not null,      -- the highest sequence number ever used
    entered_up_to integer not null, -- events after this one have entered no queue yet
    now integer not null,           -- the time of the last change: a clock that says less was set back
    in_use_ms integer not null,     -- how long processes have used the file
    -- JSON: of each destination the number of rows and their bytes, by kind, by kind and reason of death, and delivered.
    totals text not null,
    -- JSON: by process, its heartbeat, its lease, and the sequence numbers that it has claimed.
    claims text not null,
    -- JSON: delivered events whose rows are still to be deleted: their bytes, and their sequence numbers.
    delivered text not null
  ) strict;
  insert into state values (0, 0, 0, 0, '{}', '{}', '[0]');
  `,
];
