/**
 * `npm run proof:churn -- --events 100000 --rounds 5`
 *
 * Sends events through an outbox in a PostgreSQL server that is started for it, round after round, and prints after each
 * how large the tables are and how long a claim of 8 events takes: both must stay what they were. Exits with 1 where a claim in the
 * last round takes more than three times as long as in the first, or the table of events is more than twice as large.
 */
import { parseArgs } from "node:util";
import pg from "pg";
import type { Deliver } from "../src/index.js";
import { type PostgresOutbox, postgresOutbox } from "../src/outbox/postgres/index.js";
import { ENDPOINTS } from "../src/service/endpoints.js";
import { DESTINATION, sample, stranger } from "../src/testing/contract/samples.js";
import { startCluster } from "../test/helpers/cluster.js";

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "100000" },
    rounds: { type: "string", default: "5" },
    visitors: { type: "string", default: "10000" },
  },
});
const CONCURRENCY = 256;
const CALLERS = 1_000;
const CLAIMS = 100;
const CLAIMED_AT_ONCE = 8;

interface Measured {
  readonly seconds: number;
  readonly eventsMiB: number;
  readonly idsMiB: number;
  readonly claimMs: number;
}

process.exitCode = (await prove(Number(values.events), Number(values.rounds), Number(values.visitors)))
  ? 0
  : 1;

async function prove(events: number, rounds: number, visitors: number): Promise<boolean> {
  const cluster = await startCluster({ autovacuum_naptime: "1s" });
  const pool = new pg.Pool({ connectionString: cluster.connectionString });
  const outbox = postgresOutbox({ pool });
  const people = Array.from({ length: visitors }, stranger);
  const measured: Measured[] = [];
  console.log(`Node ${process.version}, ${rounds} rounds of ${events} events of ${visitors} visitors`);

  const gate = { isOpen: true };
  outbox.start(deliverAtOnce(gate), { dropped() {}, degraded: console.error, recovered() {} });
  for (let round = 1; round <= rounds; round++) {
    const began = performance.now();
    await report(outbox, events, () => people[Math.floor(Math.random() * visitors)]);
    do await new Promise((resolve) => setTimeout(resolve, 10));
    while (outbox.counts().queued > 0);
    const seconds = (performance.now() - began) / 1_000;
    gate.isOpen = false;
    await report(outbox, CLAIMS * CLAIMED_AT_ONCE, stranger);
    measured.push(await measure(pool, seconds));
    gate.isOpen = true;
    const { eventsMiB, idsMiB, claimMs } = measured.at(-1) as Measured;
    console.log(
      `  round ${round}: ${Math.round(events / seconds)} events/s; events ${eventsMiB.toFixed(1)} MiB, known ids ${idsMiB.toFixed(1)} MiB; a claim ${claimMs.toFixed(2)} ms`,
    );
  }
  await outbox.close();
  await pool.end();
  await cluster.destroy();
  const [first, last] = [measured[0], measured.at(-1)] as [Measured, Measured];
  return last.claimMs <= 3 * first.claimMs && last.eventsMiB <= 2 * first.eventsMiB;
}

function deliverAtOnce(gate: { readonly isOpen: boolean }): Deliver {
  let underWay = 0;
  return {
    destination: DESTINATION,
    capacity() {
      const limit = gate.isOpen ? CONCURRENCY - underWay : 0;
      return {
        destination: DESTINATION,
        limit,
        lanes: limit > 0 ? ENDPOINTS.map((endpoint) => ({ endpoint, limit })) : [],
      };
    },
    async deliver() {
      underWay++;
      await new Promise(setImmediate);
      underWay--;
      return { type: "delivered" };
    },
    settled() {},
  };
}

async function report(
  outbox: PostgresOutbox,
  events: number,
  who: () => ReturnType<typeof stranger> | undefined,
): Promise<void> {
  let left = events;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (left-- > 0) await outbox.add(sample("payment", who()));
    }),
  );
}

async function measure(pool: pg.Pool, seconds: number): Promise<Measured> {
  const mebibytes = async (table: string) => {
    const { rows } = await pool.query(`select pg_total_relation_size('affiliate.${table}')::text as size`);
    return Number(rows[0].size) / 2 ** 20;
  };
  const times: number[] = [];
  const client = await pool.connect();
  await client.query("begin");
  for (let nth = 0; nth < CLAIMS; nth++) {
    const began = performance.now();
    await client.query(
      `select from affiliate.claim(
         (select number from affiliate.destinations), gen_random_uuid(), '1 minute', $1, '{}', $2, $3, $4, $5, $4
       )`,
      [
        CLAIMED_AT_ONCE,
        ENDPOINTS,
        ENDPOINTS.map(() => CLAIMED_AT_ONCE),
        ENDPOINTS.map(() => false),
        ENDPOINTS.map(() => null),
      ],
    );
    times.push(performance.now() - began);
  }
  await client.query("rollback");
  client.release();
  const claimMs = times.sort((a, b) => a - b)[CLAIMS / 2] as number;
  return { seconds, eventsMiB: await mebibytes("events"), idsMiB: await mebibytes("known_ids"), claimMs };
}
