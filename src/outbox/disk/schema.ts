/** What makes version n of the file from version n - 1. Never changed once published, only continued. */
export const MIGRATIONS: readonly string[] = [
  `
  create table events (
    seq integer primary key,        -- the order in which they came
    id text not null,
    kind text not null,
    click_id text,
    session_id text,
    data text not null,             -- JSON
    created_at integer not null,    -- this and every time below: milliseconds since the epoch
    queued_at integer not null,
    size integer not null,
    attempts integer not null default 0,
    maybe_taken integer not null default 0,
    interrupted integer not null default 0,
    ready_at integer,               -- null: not lined up yet, waits behind an earlier event of its visitor, or is claimed
    claimed_by text,
    pulse integer                   -- the claimer's sign of life
  ) strict;
  create index events_ready on events (ready_at) where ready_at is not null;
  create index events_to_shed on events (kind) where claimed_by is null and kind <> 'payment';
  create index events_claimed on events (claimed_by) where claimed_by is not null;

  -- Who goes before whom, of the events that are lined up: those up to a seq.
  create table lines (visitor text, seq integer, primary key (visitor, seq)) strict, without rowid;
  create table lined_up (to_seq integer not null) strict;
  insert into lined_up values (0);

  create table dead_letters (
    seq integer primary key,
    id text not null unique,
    kind text not null,
    data text not null,
    created_at integer not null,
    size integer not null,
    attempts integer not null,
    maybe_taken integer not null,
    reason text not null,
    status integer,
    code text,
    message text,
    died_at integer not null
  ) strict;

  create table delivered (seq integer primary key, id text not null, at integer not null) strict;

  -- The ids of all three, in three sizes of table. Without rowid: a statement tells the last one, and 64 bits are more
  -- than a number of JavaScript holds.
  create table ids_new (id integer primary key) strict, without rowid;
  create table ids_young (id integer primary key) strict, without rowid;
  create table ids_old (id integer primary key) strict, without rowid;

  -- How many rows of a kind, of a reason, and delivered there are, and their size, so that nobody has to count.
  create table totals (name text primary key, rows integer not null, bytes integer not null) strict, without rowid;

  -- The time of the last change: a clock that says less was set back.
  create table clock (now integer not null) strict;
  insert into clock values (0);
  `,
];
