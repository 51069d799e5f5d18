import { type Database, prepareAll, UnreadableError } from "../file/sqlite.js";
import type { Dropped } from "./requests.js";
import { eventFromRow, type RowOfEvent } from "./rows.js";
import { createClaimedEvents, createTotals, type Known, knownFrom, type StoredClaims } from "./state.js";

export const STATEMENTS = {
  // This number changes when another connection has written.
  version: "pragma data_version",
  read: "select * from state",
  arrivals: `
    select seq, destination, id, kind, click_id, session_id, created_at, size from events
    where seq in (select value from json_each(?)) and state = 'new' order by seq`,
  write: `
    update state
    set last_seq = ?, entered_up_to = ?, totals = ?, claims = ?, delivered = ?, now = ?, in_use_ms = ?`,
} as const;

export const CLOCK_TOLERANCE_MS = 1_000;

export type Cache = ReturnType<typeof createCache>;

/**
 * The file, and what this process keeps of it from one transaction to the next. When another
 * process has written, or a transaction is rolled back, all of that is dropped.
 *
 * @param monotonic milliseconds of a clock that is never set.
 */
export function createCache(db: Database, monotonic: () => number) {
  const { version, read, arrivals, write } = prepareAll(db, STATEMENTS);
  const steady = createSteadyClock(monotonic);
  let seen: number | undefined;
  let known: Known | undefined;
  let losses = { dropped: [] as Dropped[], unreadable: [] as string[] };

  function load(isFromAnother: boolean): Known {
    const row = read.get();
    if (isFromAnother) steady.restore(row.in_use_ms, row.now);
    const { claims, delivered, totals } = readable(() => ({
      claims: JSON.parse(row.claims) as StoredClaims,
      delivered: JSON.parse(row.delivered) as [number, ...number[]],
      totals: createTotals(row.totals),
    }));
    const claimed = Object.values(claims).flatMap(([, , seqs]) => seqs);
    const onArrival = claimed.length > 0 ? arrivals.all(JSON.stringify(claimed)) : [];
    return knownFrom(row, totals, createClaimedEvents(claims, onArrival), delivered);
  }

  const cache = {
    prepare: <Name extends string>(statements: Readonly<Record<Name, string>>) => prepareAll(db, statements),
    /** Read this anew in each transaction. */
    get known(): Known {
      known ??= load(false);
      return known;
    },
    begin(now: number): void {
      const { data_version: current } = version.get();
      if (current !== seen) known = load(true);
      seen = current;
      steady.follow(now);
      losses = { dropped: [], unreadable: [] };
    },
    /** Stores what the transaction has changed, and its time. */
    end(now: number): void {
      const { known } = cache;
      const { values } = known;
      // A clock that was set back is followed once.
      if (values.join() === known.stored && now >= known.changedAt - CLOCK_TOLERANCE_MS) return;
      write.run(...values, now, steady.now);
      known.stored = values.join();
      known.changedAt = now;
    },
    drop(): void {
      known = undefined;
    },
    /** Many rows have changed: what was looked up in them is looked up again. */
    renew(now: number): void {
      cache.end(now);
      known = undefined;
    },
    /** What a module has looked up, and keeps for itself until the cache is dropped. */
    lookedUp<T>(create: () => T): () => T {
      let found: { readonly of: Known; readonly value: T } | undefined;
      return () => {
        const { known } = cache;
        if (found?.of !== known) found = { of: known, value: create() };
        return found.value;
      };
    },
    /** What the transaction took out of the file undelivered, for the host to report. */
    get losses() {
      return losses;
    },
    noteDropped(row: RowOfEvent, reason: Dropped["reason"]): void {
      const event = eventFromRow(row);
      if (event) losses.dropped.push({ event, reason });
      else cache.noteUnreadable(row.id);
    },
    noteUnreadable: (id: string): void => void losses.unreadable.push(id),
    get inUseMs(): number {
      return steady.now;
    },
  };
  return cache;
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UnreadableError("the file's state cannot be read", { cause });
  }
}

/**
 * How long processes have used the file, in milliseconds. It follows the wall clock, but never
 * faster than time passes: if the wall clock is set ahead and back, no delivered id is forgotten.
 */
function createSteadyClock(monotonic: () => number) {
  let inUse = 0;
  let wall = 0;
  let followedAt = monotonic();

  return {
    follow(now: number): void {
      const passed = monotonic() - followedAt;
      followedAt += passed;
      inUse += Math.min(Math.max(0, now - wall), Math.ceil(passed));
      wall = now;
    },
    /** Continues from what a process wrote at `writtenAt`, by the wall clock. */
    restore(stored: number, writtenAt: number): void {
      inUse = stored;
      wall = writtenAt;
    },
    get now() {
      return inUse;
    },
  };
}
