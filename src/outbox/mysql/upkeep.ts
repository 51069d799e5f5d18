import { ENDPOINTS, kindOf } from "../../service/endpoints.js";
import { rememberedMs, UPKEEP_MS } from "../sql/remembered.js";
import type { Database } from "./database.js";
import { integer, isOneOf, NOW } from "./literals.js";
import { periodIn } from "./periods.js";

// Few, so that no other statement waits, and a replica keeps up.
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets old ids of delivered events, in batches. Several processes may do so at once. */
export async function forgetOld(database: Database, rememberMs: number): Promise<void> {
  const now = await time();
  for (const destination of await destinationsWith(database, "known")) {
    for (const endpoint of ENDPOINTS) {
      const since = integer(now - rememberedMs(kindOf(endpoint), rememberMs));
      // By the host's clock too: the server's may have been set back at the delivery.
      const isOld = `state = 'known' and due_at < ${since} and queued_at < ${since}`;
      await forget(
        `${isOld} and destination = ${destination} and urgency = 0 and endpoint = '${endpoint}' and tried = 0
           and period <= ${periodIn(since)}`,
        isOld,
      );
    }
  }

  /** The time by which ids are forgotten. */
  async function time(): Promise<number> {
    const clock = `\`${database.prefix}clock\``;
    // All processes together move `at` at most twice as fast as time passes: a clock set ahead by
    // mistake is corrected before much is forgotten. `at` is set first, by the old `written_at`.
    await database.write(
      `insert into ${clock} (id, at, written_at) values (1, ${NOW}, ${NOW})
       on duplicate key update
         at = greatest(at, least(${NOW}, at + 2 * least(${NOW} - written_at, ${UPKEEP_MS}))), written_at = ${NOW}`,
    );
    // After the clock was set back, `at` is in the future.
    const [row] = await database.rows<{ now: number }>(`select least(at, ${NOW}) as now from ${clock}`);
    return Number(row?.now);
  }

  async function forget(which: string, isOld: string): Promise<void> {
    let rows: { seq: number }[];
    do {
      rows = await database.rows(
        `select seq from ${database.eventsByDue} where ${which} order by period, due_at limit ${FORGOTTEN_AT_ONCE}`,
      );
      if (rows.length === 0) return;
      await database.write(`delete from ${database.events} where ${isOneOf(rows)} and ${isOld}`);
    } while (rows.length === FORGOTTEN_AT_ONCE);
  }
}

/** With events in this state. The server reads one entry of the index for each. */
export async function destinationsWith(database: Database, state: "known" | "queued"): Promise<number[]> {
  const rows = await database.rows<{ destination: string | number }>(
    `select distinct destination from ${database.eventsByDue} where state = '${state}'`,
  );
  return rows.map(({ destination }) => Number(destination));
}
