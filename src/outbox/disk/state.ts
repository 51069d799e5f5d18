import type { Holdings } from "./holdings.js";
import type { Removals } from "./removals.js";
import { type Database, prepareAll, UnreadableError } from "./sqlite.js";
import type { SteadyClock } from "./steady-clock.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  // Says another number once another connection has written to the file: what is remembered of it is right until then.
  version: "pragma data_version",
  read: "select last_seq, lined_up_to, raises, now, in_use_ms, totals, holdings, removals from state",
  write: `
    update state
    set last_seq = ?, lined_up_to = ?, raises = ?, now = ?, in_use_ms = ?, totals = ?, holdings = ?, removals = ?`,
} as const;

export type State = ReturnType<typeof createState>;

/**
 * What each transaction needs to know of the file. It stays in memory from one transaction to the next, and is read again
 * where another process has written meanwhile.
 */
export function createState(
  db: Database,
  {
    totals,
    holdings,
    removals,
    steady,
  }: { totals: Totals; holdings: Holdings; removals: Removals; steady: SteadyClock },
) {
  const parts = [totals, holdings, removals];
  const { version, read, write } = prepareAll(db, STATEMENTS);
  let seen: number | undefined;
  let lastSeq = 0;
  let linedUpTo = 0;
  let raises = 0;
  let changedAt = 0;
  let isChanged = false;

  return {
    /** At the begin of a transaction. Returns whether what is remembered of the file may be wrong. */
    load(): boolean {
      const { data_version: current } = version.get();
      if (current === seen) return false;
      const row = read.get();
      lastSeq = row.last_seq;
      linedUpTo = row.lined_up_to;
      raises = row.raises;
      changedAt = row.now;
      steady.restore(row.in_use_ms, row.now);
      try {
        totals.restore(row.totals);
        holdings.restore(row.holdings);
        removals.restore(row.removals);
      } catch (cause) {
        throw new UnreadableError("the file's state cannot be read", { cause });
      }
      isChanged = false;
      seen = current;
      return true;
    },
    /** At the end of a transaction. */
    save(now: number): void {
      if (!isChanged && parts.every((part) => !part.isChanged)) return;
      write.run(lastSeq, linedUpTo, raises, now, steady.now, ...parts.map((part) => part.store()));
      changedAt = now;
      isChanged = false;
    },
    /** A transaction was rolled back. */
    forget(): void {
      seen = undefined;
    },
    /** Something else was changed, at this time. */
    touch(): void {
      isChanged = true;
    },
    /** A place behind the last, and behind all that there ever were: what a process still holds is never taken for another event. */
    nextSeq(): number {
      isChanged = true;
      return ++lastSeq;
    },
    get linedUpTo() {
      return linedUpTo;
    },
    set linedUpTo(seq: number) {
      isChanged = true;
      linedUpTo = seq;
    },
    /** No event is left that waits to line up. */
    allAreLinedUp(): void {
      isChanged = true;
      linedUpTo = lastSeq;
    },
    /** Whether no event waits to line up. */
    get isLinedUp() {
      return linedUpTo === lastSeq;
    },
    /** How often an event has become more urgent that a process had claimed. */
    get raises() {
      return raises;
    },
    raised(): void {
      isChanged = true;
      raises++;
    },
    /** The time of the last change. */
    get changedAt() {
      return changedAt;
    },
  };
}
