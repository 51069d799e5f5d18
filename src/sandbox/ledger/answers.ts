import type { Answer } from "../http.js";
import { type Database, inserter } from "./sqlite.js";

/** Answers to an Idempotency-Key, to be given again. */
export function answersTable(database: Database) {
  const select = database.prepare(
    "select status, body from answers where endpoint = ? and idempotencyKey = ?",
  );
  const insert = inserter(database, "answers");

  return {
    of(endpoint: string, idempotencyKey: string): Answer | undefined {
      const row = select.get(endpoint, idempotencyKey) as { status: number; body: string } | undefined;
      return row && { status: row.status, body: JSON.parse(row.body) };
    },
    add(endpoint: string, idempotencyKey: string, { status, body }: Answer): void {
      insert({ endpoint, idempotencyKey, status, body: JSON.stringify(body) });
    },
  };
}
