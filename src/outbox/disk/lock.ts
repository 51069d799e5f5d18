import { type Database, kindOf, prepareAll } from "./sqlite.js";

// A host that starts waits for it, and not for longer than ten seconds in all.
const LONGEST_WAIT_MS = 8_000;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Returns what runs a body in a transaction of its own; nothing of it has happened where it throws. It waits its turn among
 * the processes that write: SQLite's own way of waiting sleeps longer the longer it has slept, and is overtaken.
 */
export function transactionsOf(db: Database): <T>(body: () => T) => T {
  const { begin, commit } = prepareAll(db, { begin: "begin immediate", commit: "commit" });

  return (body) => {
    whenFree(() => begin.run());
    try {
      const result = body();
      commit.run();
      return result;
    } catch (error) {
      try {
        db.exec("rollback");
      } catch {
        // Some errors roll back by themselves.
      }
      throw error;
    }
  };
}

/** Tries again every 1 to 4 ms, while another connection holds the lock. Sleeps in between: not for a main thread. */
export function whenFree<T>(attempt: () => T, waitMs = LONGEST_WAIT_MS): T {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (kindOf(error) !== "busy" || performance.now() > deadline) throw error;
    }
    Atomics.wait(sleeper, 0, 0, 1 + 3 * Math.random());
  }
}
