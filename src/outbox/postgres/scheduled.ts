import { priorityOf } from "../../conversion/kinds.js";
import type { CancelOutcome } from "../outbox.js";
import type { Counts } from "../sql/counts.js";
import type { Database } from "./database.js";

// Each takes up to three of the server's locks.
const RELEASED_AT_ONCE = 50;

/** The payments that wait for their `notBefore`. */
export function createScheduled(database: Database, counts: Counts) {
  const { schema } = database;
  const releaseText = `select ${schema}.release_due($1, ${priorityOf("payment")}::smallint, ${RELEASED_AT_ONCE}) as released`;
  const cancelText = `select ${schema}.cancel($1, array[$2::uuid]) as cancelled`;
  const knownText = `select cancelled from ${schema}.known_ids where destination = $1 and id = $2`;

  return {
    /** Moves some of those that are due into the queue. Resolves to their number. */
    async release(destination: number): Promise<number> {
      const [row] = await counts.during(() =>
        database.queryOnce<{ released: number }>(releaseText, [destination]),
      );
      const released = row?.released ?? 0;
      counts.release(destination, released);
      return released;
    },
    async cancel(id: string, destination: number): Promise<CancelOutcome> {
      const values = [destination, id];
      const [row] = await counts.during(() => database.query<{ cancelled: number }>(cancelText, values));
      counts.add(destination, "scheduled", -(row?.cancelled ?? 0));
      // A new statement, which sees what was committed meanwhile.
      const [known] = await database.query<{ cancelled: boolean }>(knownText, values);
      if (!known) return "unknown";
      return known.cancelled ? "cancelled" : "sent";
    },
  };
}
