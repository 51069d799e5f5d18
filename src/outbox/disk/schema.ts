/** `ready_at` of an event that waits behind another in a queue: later than any time. The schema has these numbers, too. */
export const BEHIND = Number.MAX_SAFE_INTEGER - 1;
/** `ready_at` of an event that was claimed out of a queue. */
export const CLAIMED = Number.MAX_SAFE_INTEGER;

/** What makes version n of the file from version n - 1. Never changed once published, only continued. */
export const MIGRATIONS: readonly string[] = [
  `
  -- Whose events there are: the rows below name a destination by its number.
  create table destinations (number integer primary key, name text not null unique) strict;

  create table events (
    seq integer primary key,        -- the order in which they came
    destination integer not null,
    id text not null,
    kind text not null,
    endpoint text not null,
    -- 2: a payment's; 1: a registration's; 0: a click's. That of the most urgent event behind it, once both are in a queue.
    urgency integer not null,
    click_id text,
    session_id text,
    data text not null,             -- JSON
    created_at integer not null,    -- this and every time below: milliseconds since the epoch
    queued_at integer not null,
    size integer not null,
    history text,                   -- JSON; null: never tried, and nothing known of it
    tried integer not null default 0,
    interrupted integer not null default 0,
    -- The event's state:
    --   null                   it has entered no queue yet, or was claimed on arrival
    --   9007199254740990       it waits in a queue, behind an earlier event of its visitor
    --   9007199254740991       it was claimed out of a queue
    --   less, and tried is 0   the head of its queue: since when it is, or has its urgency
    --   less, and tried is 1   the head of its queue: when it may be tried again
    ready_at integer
  ) strict;
  create index events_untried on events (destination, endpoint, urgency, ready_at) where ready_at < 9007199254740990 and tried = 0;
  create index events_tried on events (destination, endpoint, urgency, ready_at) where ready_at < 9007199254740990 and tried = 1;
  create index events_resting on events (destination, ready_at) where tried = 1;
  create index events_urgencies on events (destination, urgency, kind);
  create index events_clicks on events (destination, coalesce(session_id, click_id)) where kind = 'click';
  -- The visitors' queues.
  create index events_by_click on events (destination, click_id) where ready_at is not null and click_id is not null;
  create index events_by_session on events (destination, session_id) where ready_at is not null and session_id is not null;
  create index events_behind on events (ready_at) where ready_at = 9007199254740990;

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

  -- What the service has, a table for each kind: no click makes the file forget a payment. The column "at" counts as state.in_use_ms does.
  create table delivered_click (seq integer primary key, destination integer not null, id text not null, at integer not null) strict;
  create table delivered_registration (seq integer primary key, destination integer not null, id text not null, at integer not null) strict;
  create table delivered_payment (seq integer primary key, destination integer not null, id text not null, at integer not null) strict;

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
    lined_up_to integer not null,   -- events after this one have entered no queue yet
    raises integer not null,        -- how often a claimed event has become more urgent
    now integer not null,           -- the time of the last change: a clock that says less was set back
    in_use_ms integer not null,     -- how long processes have used the file
    -- JSON: of each destination the number of rows and their bytes, by kind, by kind and reason of death, and delivered.
    totals text not null,
    -- JSON: by process, its heartbeat and the sequence numbers that it has claimed: out of a queue, and on arrival.
    holdings text not null,
    -- JSON: the sequence numbers of delivered events whose rows are still to be deleted, and their bytes.
    removals text not null
  ) strict;
  insert into state values (0, 0, 0, 0, 0, '{}', '{}', '{"bytes":0,"places":{}}');
  `,
];
