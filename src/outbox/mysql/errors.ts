/** ER_LOCK_DEADLOCK; also of a Galera node, if another's transaction came first. */
export const DEADLOCK = 1213;
/** ER_LOCK_WAIT_TIMEOUT. */
export const LOCK_WAIT_TIMEOUT = 1205;
/** ER_DUP_ENTRY. */
export const DUPLICATE = 1062;

// ER_SERVER_SHUTDOWN; MariaDB's ER_CONNECTION_KILLED; MySQL's ER_SESSION_WAS_KILLED and
// ER_CLIENT_INTERACTION_TIMEOUT.
export const CONNECTION_ENDED = new Set([1053, 1927, 3169, 4031]);

interface Wrapped extends Error {
  readonly errno?: unknown;
  /** Sequelize has the server's error here. */
  readonly parent?: unknown;
}

/** The server's error number, however deep in a library's errors. */
export function errnoOf(error: unknown): number | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < 5; depth++) {
    const { errno, cause, parent }: Wrapped = each;
    if (typeof errno === "number" && errno > 0) return errno;
    each = cause ?? parent;
  }
  return undefined;
}
