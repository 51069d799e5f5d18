import { type ClaimedEvents, createClaimedEvents, type StoredClaims } from "./claimed-events.js";
import type { NewRow } from "./rows.js";
import { type Database, prepareAll, UnreadableError } from "./sqlite.js";
import { createSteadyClock } from "./steady-clock.js";
import { createTotals, type Totals } from "./totals.js";

export const STATEMENTS = {
  // Changes when another connection has written to the file.
  version: "pragma data_version",
  read: "select * from state",
  arrivals: `
    select seq, destination, id, kind, click_id, session_id, created_at, size from events
    where seq in (select value from json_each(?)) and state = 'new'`,
  write: `
    update state
    set last_seq = ?, entered_up_to = ?, totals = ?, claims = ?, delivered = ?, now = ?, in_use_ms = ?`,
} as const;

export const CLOCK_TOLERANCE_MS = 1_000;

/** What the file's state row says, which the transaction may change, and what was looked up. */
export type Known = ReturnType<typeof knownFrom>;

export type Cache = ReturnType<typeof createCache>;

/**
 * All that is known of the file from one transaction to the next. It holds while no other process writes: then, and where a
 * transaction is rolled back, it is dropped as a whole.
 *
 * @param monotonic milliseconds of a clock that is never set.
 */
export function createCache(db: Database, monotonic: () => number) {
  const { version, read, arrivals, write } = prepareAll(db, STATEMENTS);
  const steady = createSteadyClock(monotonic);
  let seen: number | undefined;
  let known: Known | undefined;

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
    /** To be read anew in each transaction. */
    get known(): Known {
      known ??= load(false);
      return known;
    },
    begin(now: number): void {
      const { data_version: current } = version.get();
      if (current !== seen) known = load(true);
      seen = current;
      steady.follow(now);
    },
    /** Stores what the transaction has changed, and its time. */
    end(now: number): void {
      const { known } = cache;
      const values = valuesOf(known);
      // A clock that was set back is followed once.
      if (values.join() === known.stored && now >= known.changedAt - CLOCK_TOLERANCE_MS) return;
      write.run(...values, now, steady.now);
      known.stored = values.join();
      known.changedAt = now;
    },
    /** The transaction was rolled back. */
    drop(): void {
      known = undefined;
    },
    /** The transaction has changed many rows: what was looked up in them is looked up again. */
    renew(now: number): void {
      cache.end(now);
      known = undefined;
    },
    /** How long processes have used the file, in milliseconds. */
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

interface StateRow {
  readonly last_seq: number;
  readonly entered_up_to: number;
  readonly now: number;
}

function knownFrom(
  row: StateRow,
  totals: Totals,
  claims: ClaimedEvents,
  [deliveredBytes, ...delivered]: readonly [number, ...number[]],
) {
  const known = {
    /** The highest sequence number ever used. */
    lastSeq: row.last_seq,
    /** Events after this one have entered no queue yet. */
    enteredUpTo: row.entered_up_to,
    totals,
    claims,
    /** Delivered events whose rows are still to be deleted. */
    delivered: new Set(delivered),
    deliveredBytes,
    /** The time of the last change. */
    changedAt: row.now,
    stored: "",

    /** Whether an event may have become ready or more urgent since this process last claimed. */
    hasChanged: true,
    /** The next events to enter a queue. */
    upcoming: [] as NewRow[],
    /** Whether an event may wait behind another in a queue. */
    anyBehind: undefined as boolean | undefined,
    /** Whether any queue may hold an event. */
    anyQueued: undefined as boolean | undefined,
    /** By destination: whether an event may have been tried. */
    anyTried: new Map<number, boolean>(),
    /** Destinations, endpoints and urgencies without an event that is ready and was never tried. */
    withoutReady: new Set<string>(),
    /** By destination and kind: the last event that had entered no queue. */
    lastNew: new Map<string, number>(),
    /** By destination: when its first scheduled payment is due. */
    nextScheduled: new Map<number, number>(),
    /** By destination and kind. */
    oldest: new Map<string, { readonly seq: number; readonly created_at: number }>(),
    /** By destination and kind: no event is left up to this one. */
    noneUpTo: new Map<string, number>(),

    get haveAllEntered(): boolean {
      return known.enteredUpTo === known.lastSeq;
    },
    /** The next sequence number; never reused, so that an old claim cannot mean another event. */
    nextSeq: (): number => ++known.lastSeq,
  };
  known.stored = valuesOf(known).join();
  return known;
}

function valuesOf(
  known: Pick<Known, "lastSeq" | "enteredUpTo" | "totals" | "claims" | "deliveredBytes" | "delivered">,
) {
  const { lastSeq, enteredUpTo, totals, claims, deliveredBytes, delivered } = known;
  return [
    ...[lastSeq, enteredUpTo, totals.json, claims.json],
    JSON.stringify([deliveredBytes, ...delivered]),
  ] as const;
}
