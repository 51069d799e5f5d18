import { type Candidate, candidatesOf, ENTERED_AT_ONCE, hasNotEntered, type Part } from "./candidates.js";
import type { Database } from "./database.js";
import type { Periods } from "./periods.js";
import type { ServerTime } from "./server-time.js";
import type { createVisitorQueue } from "./visitor-queue.js";

export type Search = ReturnType<typeof createSearch>;

// So many rounds for a backlog; the next search does the rest.
const ROUNDS = 4;

/**
 * Looks for candidates. First, new events enter their queues, if one of them waits behind another
 * or they are many: otherwise the click that a new payment waits for would not go with the
 * payments.
 */
export function createSearch(
  database: Database,
  {
    queue,
    time,
    periods,
  }: { queue: ReturnType<typeof createVisitorQueue>; time: ServerTime; periods: Periods },
) {
  /** A head that enters moves to another part of the index, with the same `due_at`. */
  function note(fresh: readonly Candidate[]): void {
    for (const { due_at } of fresh) periods.include(Number(due_at));
  }

  /** `claimedHere`: the `seq` of what this process has claimed. */
  return async function search(
    parts: readonly Part[],
    { destination, claimedHere }: { destination: number; claimedHere: readonly number[] },
  ): Promise<Candidate[]> {
    const periodsOf = await periods.of(destination);
    const textOf = (some: readonly Part[]) =>
      candidatesOf(database.prefix, some, {
        destination,
        claimedHere,
        leaseEnd: time.leaseEnd,
        periodsOf,
      });
    for (let round = 1; round < ROUNDS; round++) {
      const fresh = await database.rows<Candidate>(textOf([]));
      note(fresh);
      const mayBeMore = fresh.length >= ENTERED_AT_ONCE;
      // Events that come meanwhile are for the next claim: otherwise a busy host's claims would
      // never begin.
      const hasRaised = round === 1 && fresh.some(({ before }) => before !== null);
      if (mayBeMore || hasRaised) await queue.enter(fresh);
      if (!mayBeMore) break;
    }
    const found = await database.rows<Candidate>(textOf(parts));
    note(found.filter((each) => hasNotEntered(each, parts)));
    return found;
  };
}
