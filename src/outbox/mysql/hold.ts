import { HELD } from "../dead-letters.js";
import type { SqlDialect } from "../sql/dialect.js";
import type { Database } from "./database.js";
import { ascii, NOW } from "./literals.js";
import { destinationsWith } from "./upkeep.js";
import type { createVisitorQueue } from "./visitor-queue.js";

export function createHold(
  database: Database,
  queue: ReturnType<typeof createVisitorQueue>,
): SqlDialect<never>["holding"] {
  const { events } = database;

  return {
    async leasedForMs() {
      const [row] = await database.rows<{ ms: string | number | null }>(
        `select max(due_at) - ${NOW} as ms from ${events}
         where state = 'queued' and claimed_by is not null and due_at > ${NOW}`,
      );
      return row?.ms ?? null;
    },
    async hold(limit) {
      const begin = ascii(JSON.stringify(HELD).slice(0, -1));
      const attempts = "if(json_valid(history), coalesce(json_extract(history, '$.attempts'), 0), 0)";
      const held = await database.write(
        `update ${events} set state = 'dead', reason = '${HELD.reason}', due_at = ${NOW}, tried = 0, interrupted = 0,
           claimed_by = null, death = concat(${begin}, ',"attempts":', ${attempts}, '}')
         where state = 'queued' and kind = 'payment' order by seq limit ${limit}`,
      );
      if (held < limit) {
        for (const destination of await destinationsWith(database, "queued")) await queue.heal(destination);
      }
      return held;
    },
  };
}
