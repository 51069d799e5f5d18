import type { Counts } from "../sql/counts.js";
import type { Destinations } from "../sql/destinations.js";
import type { Database } from "./database.js";

interface HandedOverRow {
  readonly taken: number;
  readonly queued: number;
}

// Each takes up to three of the server's locks.
const EVENTS_AT_ONCE = 50;
const IDS_AT_ONCE = 1_000;

/**
 * Hands one destination's events over to another, in small batches, the oldest first. After a failure, the rest is as it was;
 * call it again.
 *
 * @param options.schema a quoted identifier.
 */
export function createHandOver(
  database: Database,
  options: { schema: string; destinations: Destinations; counts: Counts },
): (from: string, to: string) => Promise<number> {
  const { schema, destinations, counts } = options;

  async function events(from: string, to: string): Promise<number> {
    const text = `select taken, queued from ${schema}.hand_over_events($1, $2, ${EVENTS_AT_ONCE})`;
    let handedOver = 0;
    for (;;) {
      const [row] = await database.queryOnce<HandedOverRow>(text, [from, to]);
      if (!row || row.taken === 0) return handedOver;
      handedOver += row.queued;
    }
  }

  async function rest(from: string, to: string): Promise<void> {
    const text = `select ${schema}.hand_over_the_rest($1, $2, ${IDS_AT_ONCE}) as taken`;
    let taken: number;
    do {
      const [row] = await database.queryOnce<{ taken: number }>(text, [from, to]);
      taken = row?.taken ?? 0;
    } while (taken > 0);
  }

  return async function handOver(from, to) {
    if (from === to) return 0;
    const numbers = [destinations.numberOf(from), destinations.numberOf(to)] as const;
    await destinations.store(to);
    const handedOver = await counts.during(async () => {
      // Known ids first: an event that the new destination knows is not queued there again.
      await rest(...numbers);
      return events(...numbers);
    });
    await counts.take();
    return handedOver;
  };
}
