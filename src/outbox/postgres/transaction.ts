import type { Database, Statement } from "../queue/database.js";
import { type Layer, toldBy } from "../queue/told.js";
import { problemsOf } from "./problems.js";
import { numbered } from "./sql.js";

/** The host's own open transaction: a client of `pg`, or anything that runs a statement in it. */
export interface PostgresTransaction {
  /** Runs one statement with values for `$1`, `$2`, …. Resolves to its rows, or to `{ rows }`. */
  // biome-ignore lint/suspicious/noExplicitAny: pg's types need its package, which is optional.
  query(text: string, values?: any[]): Promise<any>;
}

const SAVEPOINT = "affiliate_report";
// undefined_table, invalid_schema_name.
const NOT_MADE = new Set(["42P01", "3F000"]);
const SERIALIZATION_FAILURE = "40001";
// Not Prisma's own codes, such as P2010: the server's that begin with a P begin with P0.
const OF_SERVER = /^(?!P[1-9])[0-9A-Z]{5}$/;
// The server's function that looks whether a row is in the snapshot. Its words may be in any language.
const FINDS_ROW = /^ExecCheck\w*Visible$/;

/**
 * Inserts a row in the host's own transaction, within a savepoint: after a failed statement, the
 * transaction could not commit.
 */
export async function insertWithin(
  transaction: unknown,
  { insert }: { insert: Statement },
  { schema, ready }: Pick<Database, "ready"> & { schema: string },
): ReturnType<NonNullable<Database["insertWithin"]>> {
  const problems = problemsOf(schema);
  const refusal = (message: string, cause?: unknown) =>
    problems.problem("ERR_AFFILIATE_TRANSACTION", message, cause);
  if (typeof Object(transaction).query !== "function") {
    throw refusal("`transaction` must have a method query(text, values), as the clients of pg have");
  }
  const host = transaction as PostgresTransaction;

  // It alone looks for the event: under `serializable`, a `select` that finds nothing makes this
  // transaction fail if others report meanwhile, whatever they report.
  const { text, values } = numbered(
    `${insert.text} on conflict do nothing returning 1 as stored`,
    insert.values,
  );

  let isRestored = false;

  async function attempt(): Promise<boolean> {
    isRestored = false;
    await host.query(`savepoint ${SAVEPOINT}`, []);
    try {
      const result = await host.query(text, values);
      await host.query(`release savepoint ${SAVEPOINT}`, []);
      return (Array.isArray(result) ? result : (result?.rows ?? [])).length > 0;
    } catch (error) {
      await host.query(`rollback to savepoint ${SAVEPOINT}`, []);
      isRestored = true;
      throw error;
    }
  }

  try {
    return await attempt().catch(async (error) => {
      if (!NOT_MADE.has(saidIn(error).code)) throw error;
      // The very first report may come before the tables are made.
      await ready();
      return attempt();
    });
  } catch (error) {
    const said = saidIn(error);
    if (isOfUnseenRow(said)) return false;
    const { message } = problems.problemOf(said) as Error;
    // Otherwise the transaction had failed before, or its connection is gone.
    const outcome = `nothing was stored${isRestored ? ", and the transaction goes on" : ""}`;
    throw refusal(`${outcome}: ${message}`, error);
  }
}

function saidIn(error: unknown) {
  const isServers = ({ code }: Layer) => typeof code === "string" && OF_SERVER.test(code);
  const { servers, codeInText = "", words: message } = toldBy(error, isServers);
  return { code: String(servers?.code ?? codeInText), message, routine: servers?.routine };
}

/**
 * Whether the event's row was committed after the transaction's snapshot. Under `serializable`, the
 * same code may be about what others have read and written; then there is no such row.
 */
function isOfUnseenRow({ code, message, routine }: ReturnType<typeof saidIn>): boolean {
  if (code !== SERIALIZATION_FAILURE) return false;
  return FINDS_ROW.test(String(routine)) || message.includes("due to concurrent update");
}
