import { HELD, hostRuns } from "../dead-letters.js";
import type { Database } from "./database.js";
import { ascii, NOW } from "./literals.js";
import { destinationsWith } from "./upkeep.js";
import type { createVisitorQueue } from "./visitor-queue.js";

const HELD_AT_ONCE = 500;

/**
 * A function that makes an unconfirmed dead letter of each payment that waits. Resolves to their number.
 *
 * @throws OutboxError `ERR_AFFILIATE_OUTBOX_RUNNING` where a process has claimed events, and its lease is not over.
 */
export function createHold(
  database: Database,
  { prefix, queue }: { prefix: string; queue: ReturnType<typeof createVisitorQueue> },
): () => Promise<number> {
  const events = `\`${prefix}events\``;

  async function refuseWhileClaimed(): Promise<void> {
    const [row] = await database.rows<{ ms: string | number | null }>(
      `select max(due_at) - ${NOW} as ms from ${events}
       where state = 'queued' and claimed_by is not null and due_at > ${NOW}`,
    );
    if (row && row.ms !== null) throw hostRuns(Number(row.ms));
  }

  async function holdSome(): Promise<number> {
    const begin = ascii(JSON.stringify(HELD).slice(0, -1));
    const attempts = "if(json_valid(history), coalesce(json_extract(history, '$.attempts'), 0), 0)";
    return database.write(
      `update ${events} set state = 'dead', reason = '${HELD.reason}', due_at = ${NOW}, tried = 0, interrupted = 0,
         claimed_by = null, death = concat(${begin}, ',"attempts":', ${attempts}, '}')
       where state = 'queued' and kind = 'payment' order by seq limit ${HELD_AT_ONCE}`,
    );
  }

  return async function hold() {
    await refuseWhileClaimed();
    let held = 0;
    let some: number;
    do {
      some = await holdSome();
      held += some;
    } while (some === HELD_AT_ONCE);
    for (const destination of await destinationsWith(database, prefix, "queued"))
      await queue.heal(destination);
    return held;
  };
}
