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
    click_id text,
    session_id text,
    data text not null,             -- JSON
    created_at integer not null,    -- this and every time below: milliseconds since the epoch
    queued_at integer not null,
    size integer not null,
    history text,                   -- JSON; null: never tried, and nothing known of it
    tried integer not null default 0,
    interrupted integer not null default 0,
    -- Of an event that was never tried: since when it is its visitor's next; of one that was: when it may be tried again.
    -- Null: not lined up yet, waits behind an earlier event of its visitor, or is claimed.
    ready_at integer,
    claimed_by text,
    pulse integer                   -- the claimer's sign of life
  ) strict;
  create index events_untried on events (destination, endpoint, ready_at) where ready_at is not null and tried = 0;
  create index events_tried on events (destination, endpoint, ready_at) where ready_at is not null and tried = 1;
  create index events_resting on events (destination, ready_at) where ready_at is not null and tried = 1;
  create index events_kinds on events (destination, kind);
  create index events_claimed on events (claimed_by) where claimed_by is not null;
  create index events_clicks on events (destination, coalesce(session_id, click_id)) where kind = 'click';

  -- Who goes before whom, of the events that are lined up: those up to a seq.
  create table lines (visitor text, seq integer, primary key (visitor, seq)) strict, without rowid;
  create table lined_up (to_seq integer not null) strict;
  insert into lined_up values (0);

  create table dead_letters (
    seq integer primary key,
    destination integer not null,
    id text not null,
    kind text not null,
    data text not null,
    created_at integer not null,
    size integer not null,
    attempts integer not null,
    history text,
    reason text not null,
    status integer,
    code text,
    message text,
    died_at integer not null,
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

  -- What the service has, a table for each kind: no click makes the file forget a payment.
  create table delivered_click (seq integer primary key, destination integer not null, id text not null, at integer not null) strict;
  create table delivered_registration (seq integer primary key, destination integer not null, id text not null, at integer not null) strict;
  create table delivered_payment (seq integer primary key, destination integer not null, id text not null, at integer not null) strict;

  -- The ids of all of them, in three sizes of table. Without rowid: a statement tells the last one, and 64 bits are more
  -- than a number of JavaScript holds.
  create table ids_new (destination integer, id integer, primary key (destination, id)) strict, without rowid;
  create table ids_young (destination integer, id integer, primary key (destination, id)) strict, without rowid;
  create table ids_old (destination integer, id integer, primary key (destination, id)) strict, without rowid;

  -- How many rows of a destination there are by kind, by kind and reason of death, and delivered, and their size, so that no
  -- statement has to count.
  create table totals (
    destination integer, name text, rows integer not null, bytes integer not null, primary key (destination, name)
  ) strict, without rowid;

  -- The time of the last change: a clock that says less was set back.
  create table clock (now integer not null) strict;
  insert into clock values (0);
  `,
];
