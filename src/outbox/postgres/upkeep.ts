import type { Clock } from "../../shared/clock.js";
import type { Database } from "./database.js";

// So few that no other statement waits for it, and a replica keeps up.
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets, in small batches, the ids of what was delivered long ago. Several processes may do so at the same time. */
export async function forgetOld(database: Database, schema: string, rememberMs: number): Promise<void> {
  const text = `
    with old as (
      select id from ${schema}.known_ids
      where added_at < now() - $1::interval and delivered_at < now() - $1::interval
      order by added_at
      limit ${FORGOTTEN_AT_ONCE}
      for update skip locked
    )
    delete from ${schema}.known_ids as known using old where known.id = old.id returning 1`;
  let forgotten: number;
  do {
    forgotten = (await database.query(text, [`${rememberMs} milliseconds`])).length;
  } while (forgotten === FORGOTTEN_AT_ONCE);
}

/**
 * Does something again and again, never twice at a time, until the function that it returns is called.
 *
 * @param ms how long after its end the next time comes, given how long it took: both in milliseconds.
 * @param task where it rejects, it is tried again the next time.
 */
export function again(clock: Clock, ms: (took: number) => number, task: () => unknown): () => void {
  let isStopped = false;
  let cancel = clock.after(ms(0), round);

  async function round(): Promise<void> {
    const began = clock.now();
    try {
      await task();
    } catch {
      // Whatever is wrong with the server is told by claiming and storing.
    }
    if (!isStopped) cancel = clock.after(ms(clock.now() - began), round);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}
