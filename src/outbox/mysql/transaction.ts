import { OutboxError } from "../../shared/errors.js";
import type { Database, Statement } from "../queue/database.js";
import { DEADLOCK, DUPLICATE, errnoOf } from "./errors.js";
import { withValues } from "./sql.js";

/** The host's open transaction: a connection of `mysql2/promise`, or what runs statements in it. */
export interface MysqlTransaction {
  /** Runs a statement without parameters. Resolves to its rows, alone or in an array or `rows`. */
  // biome-ignore lint/suspicious/noExplicitAny: mysql2's own types, seen from where they are not installed.
  query(text: string): Promise<any>;
  /** If it emits events: the outbox listens for the error when it closes the connection. */
  on?(event: "error", listener: () => void): unknown;
}

const NO_SUCH_TABLE = 1146;
// ER_TABLE_DEF_CHANGED: the snapshot is older than the table.
const YOUNGER_TABLE = 1412;

/**
 * Inserts a row in the host's own transaction. A failed statement is undone alone, and the
 * transaction continues; a deadlock undoes it all.
 *
 * @throws OutboxError
 */
export async function insertWithin(
  transaction: unknown,
  { known, insert }: { known: Statement; insert: Statement },
  { ready }: Pick<Database, "ready">,
): Promise<boolean> {
  if (!isTransaction(transaction)) {
    throw refusal("`transaction` must have a method query(text), as the connections of mysql2/promise have");
  }
  try {
    // A failed insert would lock the existing row until the transaction ends.
    if (await isKnown(transaction, withValues(known.text, known.values), ready)) return false;
    await transaction.query(withValues(insert.text, insert.values));
    return true;
  } catch (error) {
    if (numberFrom(error) === DUPLICATE) return false;
    if (numberFrom(error) === DEADLOCK) throw await undone(transaction, error);
    throw refusal(`nothing was stored, and the transaction goes on: ${messageOf(error)}`, error);
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
    const number = numberFrom(error);
    if (number !== NO_SUCH_TABLE && number !== YOUNGER_TABLE) throw error;
    // The first report may come before the tables are made.
    if (number === NO_SUCH_TABLE) await prepare();
    return false;
  }
}

/** Closes an undone transaction's connection: its next statements would be committed alone. */
async function undone(transaction: MysqlTransaction, cause: unknown): Promise<OutboxError> {
  // Without a listener, the connection's error would end the process.
  transaction.on?.("error", () => {});
  await transaction.query("kill connection_id()").catch(() => {});
  return refusal(
    "the server has rolled the transaction back, to end a deadlock with another; its connection is closed, so that no half of the transaction is committed: run it again from its start",
    cause,
  );
}

function isTransaction(value: unknown): value is MysqlTransaction {
  return typeof Object(value).query === "function";
}

/** In any library's shape. */
function rowsOf(result: unknown): readonly unknown[] {
  const rows = Array.isArray(result) ? result : (Object(result).rows ?? []);
  return Array.isArray(rows[0]) ? rows[0] : rows;
}

/** The server's error number; from the text, if a library has it only there. */
function numberFrom(error: unknown): number | undefined {
  const told = messageOf(error).match(/\b(1062|1146|1213|1412)\b|(Duplicate entry)|(Deadlock found)/);
  if (errnoOf(error) !== undefined || !told) return errnoOf(error);
  if (told[2]) return DUPLICATE;
  return told[3] ? DEADLOCK : Number(told[1]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function refusal(message: string, cause?: unknown): OutboxError {
  return new OutboxError("ERR_AFFILIATE_TRANSACTION", `mysqlOutbox: ${message}`, { cause });
}
