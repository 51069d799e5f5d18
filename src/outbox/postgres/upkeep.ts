import type { EventKind } from "../../events.js";
import { LEAST_URGENT_FIRST } from "../../kinds.js";
import { rememberedMs, UPKEEP_MS } from "../sql/remembered.js";
import type { Database } from "./database.js";

// Few, so that no other statement waits, and a replica keeps up.
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets, in small batches, the ids of what was delivered long ago. Several processes may do so at the same time. */
export async function forgetOld(database: Database, schema: string, rememberMs: number): Promise<void> {
  const text = `
    with old as (
      select destination, id from ${schema}.known_ids
      where kind = $1 and reported_at < (select at from ${schema}.clock) - $2::interval
        and delivered_at < (select at from ${schema}.clock) - $2::interval
      order by reported_at
      limit ${FORGOTTEN_AT_ONCE}
      for update skip locked
    )
    delete from ${schema}.known_ids as known using old
    where known.destination = old.destination and known.id = old.id returning 1`;
  // All processes together move `at` at most twice as fast as time passes: a server's clock that was set ahead by mistake is
  // corrected before much is forgotten.
  await database.query(
    `update ${schema}.clock set written_at = now(), at = greatest(at, least(now(),
       coalesce(at + 2 * least(now() - written_at, interval '${UPKEEP_MS} milliseconds'), now())))`,
  );
  for (const kind of LEAST_URGENT_FIRST) {
    await forgetOf(kind, rememberedMs(kind, rememberMs));
  }

  async function forgetOf(kind: EventKind, ms: number): Promise<void> {
    let forgotten: number;
    do {
      forgotten = (await database.query(text, [kind, `${ms} milliseconds`])).length;
    } while (forgotten === FORGOTTEN_AT_ONCE);
  }
}
