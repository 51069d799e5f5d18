import type { Answer } from "../http.js";
import type { Database } from "./sqlite.js";

/** The answers that were given to an Idempotency-Key, to be given again. */
export function answersTable(database: Database) {
  const select = database.prepare(
    "select status, body from answers where endpoint = ? and idempotencyKey = ?",
  );
  const insert = database.prepare(
    "insert into answers (endpoint, idempotencyKey, status, body) values (?, ?, ?, ?)",
  );

  return {
    of(endpoint: string, idempotencyKey: string): Answer | undefined {
      const row = select.get(endpoint, idempotencyKey) as { status: number; body: string } | undefined;
      return row && { status: row.status, body: JSON.parse(row.body) };
    },
    add(endpoint: string, idempotencyKey: string, { status, body }: Answer): void {
      insert.run(endpoint, idempotencyKey, status, JSON.stringify(body));
    },
  };
}
