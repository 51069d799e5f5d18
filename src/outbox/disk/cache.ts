import { type ClaimedEvents, createClaimedEvents, type StoredClaims } from "./claimed-events.js";
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

/** What the file's state row says, which the transaction may change. */
export type Known = ReturnType<typeof knownFrom>;

export type Cache = ReturnType<typeof createCache>;

/**
 * All that is known of the file from one transaction to the next. It holds while no other process writes: then, and if a
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
    /**
     * What a module has looked up in the file, and keeps from one transaction to the next. It is made anew when all that is known is
     * dropped. Only that module reads and writes it.
     */
    lookedUp<T>(create: () => T): () => T {
      let found: { readonly of: Known; readonly value: T } | undefined;
      return () => {
        const { known } = cache;
        if (found?.of !== known) found = { of: known, value: create() };
        return found.value;
      };
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
    delivered: createDelivered(deliveredBytes, delivered),
    /** The time of the last change. */
    changedAt: row.now,
    stored: "",

    get haveAllEntered(): boolean {
      return known.enteredUpTo === known.lastSeq;
    },
    /** The next sequence number; never reused, so that an old claim cannot mean another event. */
    nextSeq: (): number => ++known.lastSeq,
  };
  known.stored = valuesOf(known).join();
  return known;
}

function valuesOf(known: Pick<Known, "lastSeq" | "enteredUpTo" | "totals" | "claims" | "delivered">) {
  const { lastSeq, enteredUpTo, totals, claims, delivered } = known;
  return [...[lastSeq, enteredUpTo, totals.json, claims.json], delivered.json] as const;
}

/** Delivered events whose rows are still to be deleted. `json` is what the file is to say. */
function createDelivered(bytes: number, seqs: readonly number[]) {
  const all = new Set(seqs);
  let sum = bytes;
  return {
    get bytes() {
      return sum;
    },
    get seqs(): readonly number[] {
      return [...all];
    },
    get rows() {
      return all.size;
    },
    has: (seq: number): boolean => all.has(seq),
    add(seq: number, size: number): void {
      all.add(seq);
      sum += size;
    },
    clear(): void {
      all.clear();
      sum = 0;
    },
    get json(): string {
      return JSON.stringify([sum, ...all]);
    },
  };
}
