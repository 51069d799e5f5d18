import type { OutboxEvent } from "../../events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { Attempted } from "../sql/append.js";
import type { Destinations } from "../sql/destinations.js";
import type { Database } from "./database.js";
import { columnsOf } from "./rows.js";

/**
 * Stores events in one statement, unless a host's open transaction has just reported one of their visitors.
 *
 * @param schema a quoted identifier.
 */
export function createAttempt(database: Database, schema: string, destinations: Destinations) {
  const text = `select outcome from ${schema}.append(
    $1, $2, $3, $4, $5, $6, $7, $8, ${CLICKS_OF_A_VISITOR}, 'try'
  ) as outcome`;

  return async function attempt(events: readonly OutboxEvent[]): Promise<Attempted[]> {
    const rows = await database.query<{ outcome: Attempted }>(text, columnsOf(events, destinations.numberOf));
    return rows.map(({ outcome }) => outcome);
  };
}
