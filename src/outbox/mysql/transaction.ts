import type { OutboxEvent } from "../../events.js";
import { OutboxError } from "../../shared/errors.js";
import { DEADLOCK, DUPLICATE, errnoOf } from "./database.js";
import { binary } from "./literals.js";
import { insertOf } from "./rows.js";

/** The host's own open transaction: a connection of `mysql2/promise`, or anything else that runs a statement in it. */
export interface MysqlTransaction {
  /** Runs one statement, which has no parameters. Resolves to its rows, alone or in an array or an object (`rows`) around them. */
  // biome-ignore lint/suspicious/noExplicitAny: mysql2's own types, seen from where they are not installed.
  query(text: string): Promise<any>;
  /** For a connection that emits events: the outbox listens for its error before it closes it. */
  on?(event: "error", listener: () => void): unknown;
}

const NO_SUCH_TABLE = 1146;
// ER_TABLE_DEF_CHANGED: the transaction's snapshot is older than the table.
const YOUNGER_TABLE = 1412;

/**
 * Stores an event in the host's own transaction. If a statement fails, the server undoes that statement alone, and the
 * transaction goes on. After a deadlock it undoes the whole transaction.
 *
 * @throws OutboxError
 */
export async function enqueue(
  transaction: unknown,
  event: OutboxEvent,
  options: {
    prefix: string;
    prepare: () => Promise<void>;
  },
): Promise<"queued" | "duplicate"> {
  const { prefix, prepare } = options;
  if (!isTransaction(transaction)) {
    throw refusal("`transaction` must have a method query(text), as the connections of mysql2/promise have");
  }
  const known = `select 1 as known from \`${prefix}events\`
    where id = ${binary(event.id)} and destination = ${event.destination}`;
  try {
    // A failed insert would lock the existing row until the transaction ends.
    if (await isKnown(transaction, known, prepare)) return "duplicate";
    await transaction.query(insertOf(prefix, event));
    return "queued";
  } catch (error) {
    if (numberFrom(error) === DUPLICATE) return "duplicate";
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
    // The very first report may come before the tables are made.
    if (number === NO_SUCH_TABLE) await prepare();
    return false;
  }
}

/** Closes the connection of a transaction that the server has undone. Else the host's next statements would be committed without its earlier ones. */
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

/** The rows of a result in any library's shape. */
function rowsOf(result: unknown): readonly unknown[] {
  const rows = Array.isArray(result) ? result : (Object(result).rows ?? []);
  return Array.isArray(rows[0]) ? rows[0] : rows;
}

/** The server's error number; from the text, where a library has it only there. */
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
