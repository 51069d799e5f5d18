import { OutboxError } from "../../shared/errors.js";
import type { Database, Statement } from "../queue/database.js";
import { toldBy } from "../queue/told.js";
import {
  CONNECTION_ENDED,
  DEADLOCK,
  DUPLICATE,
  isServers,
  LOCK_WAIT_TIMEOUT,
  NO_SUCH_TABLE,
} from "./problems.js";
import { withValues } from "./sql.js";

/** The host's open transaction: a connection of `mysql2/promise`, or what runs statements in it. */
export interface MysqlTransaction {
  /** Runs a statement without parameters. Resolves to its rows, alone or in an array or `rows`. */
  // biome-ignore lint/suspicious/noExplicitAny: mysql2's types need its package, which is optional.
  query(text: string): Promise<any>;
  /** If it emits events: the outbox listens for the error when it closes the connection. */
  on?(event: "error", listener: () => void): unknown;
}

// ER_TABLE_DEF_CHANGED: the snapshot is older than the table.
const YOUNGER_TABLE = 1412;

/**
 * Inserts a row in the host's own transaction. A failed statement is undone alone, and the
 * transaction continues; a deadlock undoes it all. So does a long wait, if
 * `innodb_rollback_on_timeout` is on.
 *
 * @throws OutboxError
 */
export async function insertWithin(
  transaction: unknown,
  { known, insert }: { known: Statement; insert: Statement },
  { placed, ready }: Pick<Database, "ready"> & { placed(text: string): string },
): Promise<boolean> {
  if (!isTransaction(transaction)) {
    throw refusal(
      "`transaction` must have a method query(text), as the connections of mysql2/promise have, and be no pool",
    );
  }
  try {
    // A failed insert would lock the existing row until the transaction ends.
    if (await isKnown(transaction, withValues(placed(known.text), known.values), ready)) return false;
    await transaction.query(withValues(placed(insert.text), insert.values));
    return true;
  } catch (error) {
    const { number, words } = saidIn(error);
    if (number === DUPLICATE) return false;
    const isUndone = number === LOCK_WAIT_TIMEOUT ? await undoesAfterWait(transaction) : number === DEADLOCK;
    if (isUndone) {
      await close(transaction);
      throw refusal(
        `the server rolled the transaction back (${words}). Its connection is closed, so that no part of it is committed: run the transaction again`,
        error,
      );
    }
    const isOpen = number !== undefined && !CONNECTION_ENDED.has(number);
    throw refusal(`nothing was stored${isOpen ? ", and the transaction goes on" : ""}: ${words}`, error);
  }
}

async function isKnown(
  transaction: MysqlTransaction,
  text: string,
  prepare: () => Promise<void>,
): Promise<boolean> {
  try {
    return rowsOf(await transaction.query(text)).length > 0;
  } catch (error) {
    const { number } = saidIn(error);
    if (number !== NO_SUCH_TABLE && number !== YOUNGER_TABLE) throw error;
    // The first report may come before the tables are made.
    if (number === NO_SUCH_TABLE) await prepare();
    return false;
  }
}

/** Whether the server undoes a whole transaction after a statement that has waited for too long. */
async function undoesAfterWait(transaction: MysqlTransaction): Promise<boolean> {
  const setting = "select 1 as undoes from dual where @@innodb_rollback_on_timeout = 1";
  // Servers compatible with MySQL may lack it.
  return rowsOf(await transaction.query(setting).catch(() => [])).length > 0;
}

/** Closes an undone transaction's connection: its next statements would be committed alone. */
async function close(transaction: MysqlTransaction): Promise<void> {
  // Without a listener, the connection's error would end the process.
  transaction.on?.("error", () => {});
  await transaction.query("kill connection_id()").catch(() => {});
}

/** A pool runs each statement on any connection, outside the host's transaction. */
function isTransaction(value: unknown): value is MysqlTransaction {
  const { query, getConnection } = Object(value);
  return typeof query === "function" && getConnection === undefined;
}

/** In any library's shape. */
function rowsOf(result: unknown): readonly unknown[] {
  const rows = Array.isArray(result) ? result : (Object(result).rows ?? []);
  return Array.isArray(rows[0]) ? rows[0] : rows;
}

/** The server's error number, from the text if a library has it only there, and its words. */
function saidIn(error: unknown): { number: number | undefined; words: string } {
  const { servers, codeInText, words } = toldBy(error, isServers);
  // `sqlMessage` is mysql2's. Knex puts the statement before `message`.
  if (servers) return { number: servers.errno as number, words: String(servers.sqlMessage ?? words) };
  if (Number(codeInText)) return { number: Number(codeInText), words };
  if (words.includes("Duplicate entry")) return { number: DUPLICATE, words };
  return { number: words.includes("Deadlock found") ? DEADLOCK : undefined, words };
}

function refusal(message: string, cause?: unknown): OutboxError {
  return new OutboxError("ERR_AFFILIATE_TRANSACTION", `mysqlOutbox: ${message}`, { cause });
}
