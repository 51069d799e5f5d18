import type { OutboxEvent } from "../../conversion/events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import type { AttemptOutcome } from "../sql/append.js";
import type { Database } from "./database.js";
import { columnsOf } from "./rows.js";

/** Stores events in one statement, unless a host's open transaction has one of their visitors. */
export function createAttempt(database: Database, onStored: (event: OutboxEvent) => void) {
  const text = `select outcome from ${database.schema}.append(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, ${CLICKS_OF_A_VISITOR}, 'try'
  ) as outcome`;

  return async function attempt(events: readonly OutboxEvent[]): Promise<AttemptOutcome[]> {
    const rows = await database.queryOnce<{ outcome: AttemptOutcome }>(text, columnsOf(events));
    events.forEach(onStored);
    return rows.map(({ outcome }) => outcome);
  };
}

/** Which of these known events their own report has stored. */
export function createStoredBy(database: Database) {
  const text = `
    select nth::integer
    from unnest($1::bigint[], $2::uuid[], $3::double precision[]) with ordinality as event (destination, id, created_at, nth)
    join ${database.schema}.known_ids as known using (destination, id)
    where known.reported_at = to_timestamp(created_at / 1000)`;

  return async function storedBy(events: readonly OutboxEvent[]) {
    const rows = await database.query<{ nth: number }>(text, [
      events.map(({ destination }) => destination),
      events.map(({ id }) => id),
      events.map(({ createdAt }) => createdAt),
    ]);
    return new Set(rows.map(({ nth }) => events[nth - 1] as OutboxEvent));
  };
}
