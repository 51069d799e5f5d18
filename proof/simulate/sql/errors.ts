import type { SqlKind } from "./real-server.js";

/** Marks what the simulator has made up: all other errors are the outbox's own doing. */
export const SIMULATED = Symbol("simulated");

/** Makes errors of the simulator. */
export const failing = (message: string, details: object) => () =>
  Object.assign(new Error(`simulated: ${message}`), { [SIMULATED]: true, ...details });

type Names = "cut" | "refused" | "crowded" | "deadlock" | "full";

/** What the drivers reject with. */
export const ERRORS: Readonly<Record<SqlKind, Readonly<Record<Names, () => Error>>>> = {
  postgres: {
    cut: failing("Connection terminated unexpectedly", {}),
    refused: failing("connect ECONNREFUSED", { code: "ECONNREFUSED", errno: -111 }),
    crowded: failing("sorry, too many clients already", { code: "53300" }),
    deadlock: failing("deadlock detected", { code: "40P01" }),
    full: failing("could not extend file: No space left on device", { code: "53100" }),
  },
  mysql: {
    cut: failing("Connection lost: The server closed the connection.", {
      code: "PROTOCOL_CONNECTION_LOST",
      fatal: true,
    }),
    refused: failing("connect ECONNREFUSED", { code: "ECONNREFUSED", errno: -111, fatal: true }),
    crowded: failing("Too many connections", { code: "ER_CON_COUNT_ERROR", errno: 1040, fatal: true }),
    deadlock: failing("Deadlock found when trying to get lock", { code: "ER_LOCK_DEADLOCK", errno: 1213 }),
    full: failing("The table is full", { code: "ER_RECORD_FILE_FULL", errno: 1114 }),
  },
};

export function isSimulated(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    if (SIMULATED in each) return true;
  }
  return false;
}
