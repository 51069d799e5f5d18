import { createProblems } from "../queue/problems.js";
import { type Layer, layersOf } from "../queue/told.js";

/** ER_LOCK_DEADLOCK; also of a Galera node, if another's transaction came first. */
export const DEADLOCK = 1213;
export const LOCK_WAIT_TIMEOUT = 1205;
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

/** Whether the connection was lost. It was if an error has no number of the server's. */
export function hasEnded(error: unknown): boolean {
  const said = errnoOf(error);
  return said === undefined || CONNECTION_ENDED.has(said);
}

/** Whether an error is the server's own. */
export function isServers({ errno }: Layer): boolean {
  return typeof errno === "number" && errno > 0;
}

export const problemsOf = (prefix: string) =>
  createProblems({
    outbox: "mysql",
    user: "user",
    tables: `"${prefix}…"`,
    name: prefix,
    flags: `--mysql --prefix ${prefix}`,
    codeOf: errnoOf,
    // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR
    rights: { code: "ERR_AFFILIATE_MYSQL_RIGHTS", servers: [1044, 1142, 1143] },
    readOnly: {
      code: "ERR_AFFILIATE_MYSQL_READ_ONLY",
      // ER_OPTION_PREVENTS_STATEMENT, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE
      servers: [1290, 1792, 1836],
      advice: "connect to the primary, not to a replica",
    },
    wrongTables: {
      code: "ERR_AFFILIATE_MYSQL_TABLES",
      // ER_NO_DB_ERROR, ER_BAD_FIELD_ERROR
      servers: [1046, 1054, NO_SUCH_TABLE],
      advice:
        "name the database that has them in the pool's options; restore them, or drop them so that they are made anew",
    },
    newer: "ERR_AFFILIATE_MYSQL_NEWER",
    silent: "ERR_AFFILIATE_MYSQL_SILENT",
  });
