import { HELD, hostRuns } from "../dead-letters.js";
import type { Database } from "./database.js";

const HELD_AT_ONCE = 500;

/**
 * A function that makes an unconfirmed dead letter of each payment that waits. Resolves to their number.
 *
 * @param schema a quoted identifier.
 * @throws OutboxError `ERR_AFFILIATE_OUTBOX_RUNNING` where a process has claimed events, and its lease is not over.
 */
export function createHold(database: Database, schema: string): () => Promise<number> {
  async function refuseWhileClaimed(): Promise<void> {
    const [row] = await database.query<{ ms: string | null }>(
      `select (extract(epoch from max(claimed_until) - now()) * 1000)::bigint::text as ms from ${schema}.events
       where claimed_until > now()`,
    );
    if (row && row.ms !== null) throw hostRuns(Number(row.ms));
  }

  return async function hold() {
    await refuseWhileClaimed();
    let held = 0;
    let some: number;
    do {
      const [row] = await database.query<{ held: number }>(`select ${schema}.hold($1, $2) as held`, [
        JSON.stringify(HELD),
        HELD_AT_ONCE,
      ]);
      some = row?.held ?? 0;
      held += some;
    } while (some === HELD_AT_ONCE);
    return held;
  };
}
