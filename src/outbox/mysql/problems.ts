import { OutboxError } from "../../shared/errors.js";
import { type Layer, layersOf } from "../queue/told.js";

/** ER_LOCK_DEADLOCK; also of a Galera node, if another's transaction came first. */
export const DEADLOCK = 1213;
/** ER_LOCK_WAIT_TIMEOUT. */
export const LOCK_WAIT_TIMEOUT = 1205;
/** ER_NO_SUCH_TABLE. */
export const NO_SUCH_TABLE = 1146;
/** ER_DUP_ENTRY. */
export const DUPLICATE = 1062;

// ER_SERVER_SHUTDOWN; MariaDB's ER_CONNECTION_KILLED; MySQL's ER_SESSION_WAS_KILLED and
// ER_CLIENT_INTERACTION_TIMEOUT. From a node that was demoted or left its cluster, and keeps
// connections: ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE, and Galera's ER_UNKNOWN_COM_ERROR. From
// one that a host has given back within a transaction: ER_CANT_CHANGE_TX_CHARACTERISTICS.
export const CONNECTION_ENDED = new Set([1053, 1927, 3169, 4031, 1290, 1836, 1047, 1568]);

/** The server's error number, however deep in a library's errors. */
export function errnoOf(error: unknown): number | undefined {
  return layersOf(error).find(isServers)?.errno as number | undefined;
}

/** Whether an error is the server's own. */
export function isServers({ errno }: Layer): boolean {
  return typeof errno === "number" && errno > 0;
}

/** An error of what the server says, with advice if users can do something about it. */
export function problemOf(error: unknown, prefix: string): unknown {
  const { message } = Object(error) as { message?: string };
  switch (errnoOf(error)) {
    case 1044: // ER_DBACCESS_DENIED_ERROR
    case 1142: // ER_TABLEACCESS_DENIED_ERROR
    case 1143: // ER_COLUMNACCESS_DENIED_ERROR
      return problem(
        "ERR_AFFILIATE_MYSQL_RIGHTS",
        `the database's user lacks a right (${message}): grant it what docs/mysql.md lists for the tables "${prefix}…", or have a user that may make the tables run what \`npx express-affiliate migrations --mysql --prefix ${prefix}\` prints`,
        error,
      );
    case 1290: // ER_OPTION_PREVENTS_STATEMENT
    case 1792: // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
    case 1836: // ER_READ_ONLY_MODE
      return problem(
        "ERR_AFFILIATE_MYSQL_READ_ONLY",
        `the server takes no writes (${message}): connect to the primary, not to a replica`,
        error,
      );
    case 1046: // ER_NO_DB_ERROR
    case 1054: // ER_BAD_FIELD_ERROR
    case NO_SUCH_TABLE:
      return problem(
        "ERR_AFFILIATE_MYSQL_TABLES",
        `the tables "${prefix}…" are not as they were made (${message}): name the database that has them in the pool's options; restore them, or drop them so that they are made anew`,
        error,
      );
    default:
      return error;
  }
}

export function problem(
  code: `ERR_AFFILIATE_MYSQL_${string}`,
  message: string,
  cause?: unknown,
): OutboxError {
  const options = cause === undefined ? undefined : { cause };
  return new OutboxError(code, `mysqlOutbox: ${message}`, options);
}
