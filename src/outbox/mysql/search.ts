import type { Destinations } from "../sql/destinations.js";
import { type Candidate, candidatesOf, isNotLinedUp, LINED_UP_AT_ONCE, type Part } from "./candidates.js";
import type { Database } from "./database.js";
import type { createLine } from "./line.js";
import type { ServerTime } from "./server-time.js";

export type Search = ReturnType<typeof createSearch>;

// Of a backlog that was reported while no process claimed: the rest is for the next search.
const ROUNDS = 4;

/**
 * Looks for candidates. What came since the last search is lined up before: else the click that a new payment waits for would
 * not go with the payments.
 */
export function createSearch(
  database: Database,
  options: {
    prefix: string;
    destinations: Destinations;
    line: ReturnType<typeof createLine>;
    time: ServerTime;
  },
) {
  const { prefix, destinations, line, time } = options;

  /** @param held the seqs of what this process has. */
  return async function search(
    parts: readonly Part[],
    { destination, held }: { destination: string; held: readonly number[] },
  ): Promise<Candidate[]> {
    const text = candidatesOf(prefix, parts, {
      destination: destinations.numberOf(destination),
      held,
      leaseEnd: time.leaseEnd,
    });
    for (let round = 1; ; round++) {
      const found = await database.rows<Candidate>(text);
      const fresh = found.filter((each) => isNotLinedUp(each, parts));
      const mayBeMore = fresh.length >= LINED_UP_AT_ONCE;
      // What comes while others are lined up is for the next claim: else a busy host's claims would never begin.
      const hasRaised = round === 1 && fresh.some(({ before }) => before !== null);
      if (!(mayBeMore || hasRaised) || round === ROUNDS) return found;
      await line.lineUp(fresh);
    }
  };
}
