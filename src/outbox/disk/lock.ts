import { type Database, failureOf, prepareAll } from "./sqlite.js";

// A host that starts waits for it, and not for longer than ten seconds in all.
const LONGEST_WAIT_MS = 8_000;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Returns a function that runs a body in a transaction; if the body throws, nothing of it has happened. It waits for the lock
 * itself: SQLite's own wait sleeps ever longer, so other processes overtake it.
 */
export function transactionsOf(db: Database): <T>(body: () => T) => T {
  const statements = prepareAll(db, { begin: "begin immediate", commit: "commit" });
  const begin = () => statements.begin.run();
  // A named function, so that a profile shows how long the flush takes.
  const commit = () => statements.commit.run();

  return (body) => {
    whenFree(begin);
    try {
      const result = body();
      commit();
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
      if (failureOf(error) !== "busy" || performance.now() > deadline) throw error;
    }
    Atomics.wait(sleeper, 0, 0, 1 + 3 * Math.random());
  }
}
