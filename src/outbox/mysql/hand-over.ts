import type { Counts } from "../sql/counts.js";
import type { Destinations } from "../sql/destinations.js";
import type { Database } from "./database.js";
import { due, listOf, NOW } from "./literals.js";
import type { Sweep } from "./sweep.js";
import { NOT_ENTERED } from "./urgency.js";

const AT_ONCE = 500;

/**
 * Hands one destination's events over to another, in small batches. An event keeps its position in its visitor's queue. After a
 * failure, the rest is as it was; call it again.
 */
export function createHandOver(
  database: Database,
  options: { prefix: string; destinations: Destinations; sweep: Sweep; counts: Counts },
): (from: string, to: string) => Promise<number> {
  const { prefix, destinations, sweep, counts } = options;
  const events = `\`${prefix}events\``;

  async function move(state: "known" | "dead" | "queued", from: string, to: string): Promise<number> {
    let moved = 0;
    for (;;) {
      const rows = await database.rows<{ seq: number }>(
        `select seq from ${events} where state = '${state}' and destination = ${from} and claimed_by is null
         order by seq limit ${AT_ONCE}`,
      );
      if (rows.length === 0) return moved;
      const these = `seq in (${listOf(rows.map(({ seq }) => String(seq)))})`;
      const stillFree = `${these} and destination = ${from} and state = '${state}' and claimed_by is null`;
      // The event that one of these waited for may stay behind.
      await database.write(
        `update ignore ${events} set destination = ${to}, ${due(`coalesce(due_at, ${NOW})`)},
           urgency = if(state = 'queued' and tried = 0 and kind <> 'click', ${NOT_ENTERED}, urgency)
         where ${stillFree}`,
      );
      // The other destination knows their ids.
      await database.write(`delete from ${events} where ${stillFree}`);
      const [row] = await database.rows<{ number: number }>(
        `select count(*) as number from ${events} where ${these} and destination = ${to}`,
      );
      moved += Number(row?.number);
    }
  }

  return async function handOver(from, to) {
    if (from === to) return 0;
    const numbers = [destinations.numberOf(from), destinations.numberOf(to)] as const;
    await destinations.store(to);
    const handedOver = await counts.during(async () => {
      // Known ids first: an event that the new destination knows is not queued there again.
      await move("known", ...numbers);
      await move("dead", ...numbers);
      return move("queued", ...numbers);
    });
    sweep.includeAll();
    await counts.take();
    return handedOver;
  };
}
