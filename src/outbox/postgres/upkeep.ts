import { LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import { rememberedMs, UPKEEP_MS } from "../sql/remembered.js";
import type { Database } from "./database.js";

// Few, so that no other statement waits, and a replica keeps up.
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets, in small batches, the ids of old deliveries. Several processes may do so at once. */
export async function forgetOld(database: Database, rememberMs: number): Promise<void> {
  const { schema } = database;
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
  // All processes together move `at` at most twice as fast as time: a clock that was set ahead by
  // mistake is corrected before much is forgotten.
  await database.query(
    `update ${schema}.clock set written_at = now(), at = greatest(at, least(now(),
       coalesce(at + 2 * least(now() - written_at, interval '${UPKEEP_MS} milliseconds'), now())))`,
  );
  for (const kind of LEAST_URGENT_FIRST) {
    const values = [kind, `${rememberedMs(kind, rememberMs)} milliseconds`];
    // Until a batch is not full.
    while ((await database.query(text, values)).length === FORGOTTEN_AT_ONCE);
  }
}
