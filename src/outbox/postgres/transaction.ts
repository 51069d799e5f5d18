import { OutboxError } from "../../shared/errors.js";
import type { Database, Statement } from "../queue/database.js";
import { problemOf } from "./problems.js";
import { numbered } from "./sql.js";

/** The host's own open transaction: a client of `pg`, or anything that runs a statement in it. */
export interface PostgresTransaction {
  /** Runs one statement with values for `$1`, `$2`, …. Resolves to its rows, or to `{ rows }`. */
  // biome-ignore lint/suspicious/noExplicitAny: pg's own types, seen from where they are not installed.
  query(text: string, values?: any[]): Promise<any>;
}

const SAVEPOINT = "affiliate_report";
// undefined_table, invalid_schema_name.
const NOT_MADE = new Set(["42P01", "3F000"]);
const SERIALIZATION_FAILURE = "40001";

/**
 * Inserts a row in the host's own transaction, within a savepoint: after a failed statement, the
 * transaction could not commit.
 */
export async function insertWithin(
  transaction: unknown,
  { known, insert }: { known: Statement; insert: Statement },
  { schema, ready }: Pick<Database, "ready"> & { schema: string },
): ReturnType<NonNullable<Database["insertWithin"]>> {
  if (typeof Object(transaction).query !== "function") {
    throw refusal("`transaction` must have a method query(text, values), as the clients of pg have");
  }
  const host = transaction as PostgresTransaction;

  async function rowsOf({ text, values }: Statement): Promise<unknown[]> {
    const prepared = numbered(text, values);
    const result = await host.query(prepared.text, prepared.values);
    return Array.isArray(result) ? result : (result?.rows ?? []);
  }

  async function attempt(): Promise<boolean> {
    await host.query(`savepoint ${SAVEPOINT}`, []);
    try {
      const isKnown = (await rowsOf(known)).length > 0;
      const text = `${insert.text} on conflict do nothing returning 1 as stored`;
      const isStored = !isKnown && (await rowsOf({ ...insert, text })).length > 0;
      await host.query(`release savepoint ${SAVEPOINT}`, []);
      return isStored;
    } catch (error) {
      await host.query(`rollback to savepoint ${SAVEPOINT}`, []);
      throw error;
    }
  }

  try {
    return await attempt().catch(async (error) => {
      if (!NOT_MADE.has(codeOf(error))) throw error;
      // The very first report may come before the tables are made.
      await ready();
      return attempt();
    });
  } catch (error) {
    // Under `repeatable read`: its row was committed after the transaction's snapshot.
    if (codeOf(error) === SERIALIZATION_FAILURE) return false;
    const { message } = Object(problemOf(error, schema)) as Error;
    throw refusal(`nothing was stored, and the transaction goes on: ${message}`, error);
  }
}

/** The server's code, however deep in a library's errors. */
function codeOf(error: unknown): string {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth++) {
    const { code, cause, parent } = each as Error & { code?: unknown; parent?: unknown };
    if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return code;
    // In a text, as Prisma has it.
    const told = each.message.match(/\b(42P01|3F000|40001)\b/);
    if (told) return told[0];
    each = cause ?? parent;
  }
  return "";
}

function refusal(message: string, cause?: unknown): OutboxError {
  return new OutboxError("ERR_AFFILIATE_TRANSACTION", `postgresOutbox: ${message}`, { cause });
}
