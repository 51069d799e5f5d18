import type { EventKind } from "../../events.js";
import type { Clock } from "../../shared/clock.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Database } from "./database.js";

// So few that no other statement waits for it, and a replica keeps up.
const FORGOTTEN_AT_ONCE = 1_000;

// A click's id is made of its click id, which is new with each click: only a request that is made twice repeats it.
const CLICKS_REMEMBERED_MS = 24 * 60 * 60 * 1_000;

/** Forgets, in small batches, the ids of what was delivered long ago. Several processes may do so at the same time. */
export async function forgetOld(database: Database, schema: string, rememberMs: number): Promise<void> {
  const text = `
    with old as (
      select destination, id from ${schema}.known_ids
      where kind = $1 and added_at < now() - $2::interval and delivered_at < now() - $2::interval
      order by added_at
      limit ${FORGOTTEN_AT_ONCE}
      for update skip locked
    )
    delete from ${schema}.known_ids as known using old
    where known.destination = old.destination and known.id = old.id returning 1`;
  for (const kind of SHEDDING_ORDER) {
    const ms = kind === "click" ? Math.min(CLICKS_REMEMBERED_MS, rememberMs) : rememberMs;
    await forgetOf(kind, ms);
  }

  async function forgetOf(kind: EventKind, ms: number): Promise<void> {
    let forgotten: number;
    do {
      forgotten = (await database.query(text, [kind, `${ms} milliseconds`])).length;
    } while (forgotten === FORGOTTEN_AT_ONCE);
  }
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
