import { type Layer, layersOf } from "../queue/told.js";

/** ER_LOCK_DEADLOCK; also of a Galera node, if another's transaction came first. */
export const DEADLOCK = 1213;
/** ER_LOCK_WAIT_TIMEOUT. */
export const LOCK_WAIT_TIMEOUT = 1205;
/** ER_DUP_ENTRY. */
export const DUPLICATE = 1062;

// ER_SERVER_SHUTDOWN; MariaDB's ER_CONNECTION_KILLED; MySQL's ER_SESSION_WAS_KILLED and
// ER_CLIENT_INTERACTION_TIMEOUT. From a node that was demoted or left its cluster, and keeps
// connections: ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE, and Galera's ER_UNKNOWN_COM_ERROR.
export const CONNECTION_ENDED = new Set([1053, 1927, 3169, 4031, 1290, 1836, 1047]);

/** The server's error number, however deep in a library's errors. */
export function errnoOf(error: unknown): number | undefined {
  return layersOf(error).find(isServers)?.errno as number | undefined;
}

/** Whether an error is the server's own. */
export function isServers({ errno }: Layer): boolean {
  return typeof errno === "number" && errno > 0;
}
