import { ENDPOINTS, kindOf } from "../../service/endpoints.js";
import { rememberedMs, UPKEEP_MS } from "../sql/remembered.js";
import type { Database } from "./database.js";
import { integer, listOf, NOW } from "./literals.js";
import { periodIn } from "./sweep.js";

// Few, so that no other statement waits, and a replica keeps up.
const FORGOTTEN_AT_ONCE = 1_000;

/** Forgets, in small batches, the ids of what was delivered long ago. Several processes may do so at the same time. */
export async function forgetOld(
  database: Database,
  { prefix, rememberMs }: { prefix: string; rememberMs: number },
): Promise<void> {
  const events = `\`${prefix}events\``;
  const now = await time();
  for (const destination of await destinationsWith(database, prefix, "known")) {
    for (const endpoint of ENDPOINTS) {
      const since = integer(now - rememberedMs(kindOf(endpoint), rememberMs));
      // By the host's clock too: the server's may have been set back when it was delivered.
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
    const clock = `\`${prefix}clock\``;
    // All processes together move `at` at most twice as fast as time passes: a server's clock that was set ahead by mistake is
    // corrected before much is forgotten. The server sets `at` first, so its expression reads the old `written_at`.
    await database.write(
      `insert into ${clock} (id, at, written_at) values (1, ${NOW}, ${NOW})
       on duplicate key update
         at = greatest(at, least(${NOW}, at + 2 * least(${NOW} - written_at, ${UPKEEP_MS}))), written_at = ${NOW}`,
    );
    // After the server's clock was set back, `at` is in the future.
    const [row] = await database.rows<{ now: number }>(`select least(at, ${NOW}) as now from ${clock}`);
    return Number(row?.now);
  }

  async function forget(which: string, isOld: string): Promise<void> {
    let rows: { seq: number }[];
    do {
      rows = await database.rows(
        `select seq from ${events} force index (\`${prefix}events_due\`)
         where ${which} order by period, due_at limit ${FORGOTTEN_AT_ONCE}`,
      );
      if (rows.length === 0) return;
      await database.write(
        `delete from ${events} where seq in (${listOf(rows.map(({ seq }) => String(seq)))}) and ${isOld}`,
      );
    } while (rows.length === FORGOTTEN_AT_ONCE);
  }
}

/** The destinations of the events in this state. The server reads one entry of the index for each of them. */
export async function destinationsWith(
  database: Database,
  prefix: string,
  state: "known" | "queued",
): Promise<number[]> {
  const rows = await database.rows<{ destination: string | number }>(
    `select distinct destination from \`${prefix}events\`
     force index (\`${prefix}events_due\`) where state = '${state}'`,
  );
  return rows.map(({ destination }) => Number(destination));
}
