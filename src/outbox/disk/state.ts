import type { ClaimOwners } from "./claim-owners.js";
import type { Removals } from "./removals.js";
import { type Database, prepareAll, UnreadableError } from "./sqlite.js";
import type { SteadyClock } from "./steady-clock.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  // Changes when another connection has written to the file: what is remembered of the file is valid until then.
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
    owners,
    removals,
    steady,
  }: { totals: Totals; owners: ClaimOwners; removals: Removals; steady: SteadyClock },
) {
  const parts = [totals, owners, removals];
  const { version, read, write } = prepareAll(db, STATEMENTS);
  let seen: number | undefined;
  let lastSeq = 0;
  let enteredUpTo = 0;
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
      enteredUpTo = row.lined_up_to;
      raises = row.raises;
      changedAt = row.now;
      steady.restore(row.in_use_ms, row.now);
      try {
        totals.restore(row.totals);
        owners.restore(row.holdings);
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
      write.run(lastSeq, enteredUpTo, raises, now, steady.now, ...parts.map((part) => part.store()));
      changedAt = now;
      isChanged = false;
    },
    /** A transaction was rolled back. */
    forget(): void {
      seen = undefined;
    },
    /** Something else was changed: `save` stores the time of the change. */
    touch(): void {
      isChanged = true;
    },
    /** The next sequence number; never reused, so that an old claim cannot mean another event. */
    nextSeq(): number {
      isChanged = true;
      return ++lastSeq;
    },
    get enteredUpTo() {
      return enteredUpTo;
    },
    set enteredUpTo(seq: number) {
      isChanged = true;
      enteredUpTo = seq;
    },
    noteAllEntered(): void {
      isChanged = true;
      enteredUpTo = lastSeq;
    },
    get haveAllEntered() {
      return enteredUpTo === lastSeq;
    },
    /** How often a claimed event has become more urgent. */
    get raises() {
      return raises;
    },
    noteRaise(): void {
      isChanged = true;
      raises++;
    },
    /** The time of the last change. */
    get changedAt() {
      return changedAt;
    },
  };
}
