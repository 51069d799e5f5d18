/**
 * `npm run proof churn -- --outbox postgres,mysql --events 100000 --rounds 5`
 *
 * Sends events through an outbox in a PostgreSQL server, or in a MariaDB server, that is started
 * for it, round after round, and prints after each how large the tables are and how long a claim of
 * 8 events takes: both must stay what they were. Exits with 1 if an event is dropped or not
 * delivered, if a claim in the last round takes more than three times as long as in the first, if
 * the table of queues is more than twice as large (and larger than 4 MiB, in MariaDB 16), or if that of events
 * grows faster than there are more ids that it remembers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Outbox } from "express-affiliate";
import type { Deliver } from "../src/outbox/claim.js";
import { ENDPOINTS } from "../src/service/endpoints.js";
import { DESTINATION, sample, stranger } from "../test/contract/samples.js";
import { type Kind, kindFrom, type Opened, open, startServer } from "./outboxes/server.js";
import { allHold, figures } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";

const { options } = commandLine({ outbox: "postgres", events: 100_000, rounds: 5, visitors: 10_000 });
const kinds = options.outbox.split(",").map(kindFrom);
const CONCURRENCY = 256;
const CALLERS = 1_000;
// A table that holds a backlog is large for that: no more than these wait at any moment.
const MOST_WAITING = 2_000;
// The size of a smaller table is chance: autovacuum looks once a second, and InnoDB's file of a table
// that is larger than an extent grows by several.
const LEAST_MIB: Record<Kind, number> = { postgres: 2, mysql: 8 };
const CLAIMS = 100;
const CLAIMED_AT_ONCE = 8;
const PATIENCE_MS = 10_000;

type Ended = Record<"delivered" | "dropped", number>;
type Reporting = Readonly<{ outbox: Outbox; gate: { readonly isOpen: boolean }; ended: Readonly<Ended> }>;
type Measured = Readonly<Record<"queuesMiB" | "eventsMiB" | "claimMs", number>>;

for (const kind of kinds) if (!(await prove(kind, options))) process.exitCode = 1;

async function prove(kind: Kind, { events, rounds, visitors }: typeof options): Promise<boolean> {
  const server = await startServer(kind);
  const opened = open(kind, server.uri);
  const { outbox } = opened;
  const people = Array.from({ length: visitors }, stranger);
  const measured: Measured[] = [];
  console.log(
    `${kind}, Node ${process.version}, ${rounds} rounds of ${events} events of ${visitors} visitors`,
  );

  const gate = { isOpen: true };
  const ended: Ended = { delivered: 0, dropped: 0 };
  const reporting = { outbox, gate, ended };
  outbox.bind(DESTINATION);
  outbox.start(deliverAtOnce(gate, ended), {
    dropped: () => ended.dropped++,
    degraded: console.error,
    recovered: () => console.error("recovered"),
  });
  for (let round = 1; round <= rounds; round++) {
    const began = performance.now();
    await report(reporting, events, () => people[Math.floor(Math.random() * visitors)]);
    await untilEnded(ended, round * events + (round - 1) * CLAIMS * CLAIMED_AT_ONCE);
    const seconds = (performance.now() - began) / 1_000;
    gate.isOpen = false;
    // A claim that is still under way would take the events that are to wait behind the gate.
    while (outbox.idle === false) await sleep(1);
    await report(reporting, CLAIMS * CLAIMED_AT_ONCE, stranger);
    const { queuesMiB, eventsMiB, claimMs } = await measure(kind, opened);
    measured.push({ queuesMiB, eventsMiB, claimMs });
    // What waits behind the gate is delivered in the next round, and not after the last.
    gate.isOpen = round < rounds;
    console.log(
      `  round ${round}: ${Math.round(events / seconds)} events/s; queues ${queuesMiB.toFixed(1)} MiB, events ${eventsMiB.toFixed(1)} MiB; a claim ${claimMs.toFixed(2)} ms`,
    );
  }
  await outbox.close();
  await opened.end();
  await server.destroy();
  const [first, last] = [measured[0], measured.at(-1)] as [Measured, Measured];
  const all = rounds * events + (rounds - 1) * CLAIMS * CLAIMED_AT_ONCE;
  return allHold(
    figures(
      ["events dropped", ended.dropped, { atMost: 0 }],
      ["events delivered", ended.delivered, { atLeast: all, atMost: all }],
      ["a claim in the last round", last.claimMs, { unit: "ms", atMost: 3 * first.claimMs }],
      ["queues", last.queuesMiB, { unit: "MiB", atMost: 2 * Math.max(LEAST_MIB[kind], first.queuesMiB) }],
      ["events", last.eventsMiB, { unit: "MiB", atMost: 2 * rounds * first.eventsMiB }],
    ),
  );
}

/**
 * Waits until so many events are delivered or dropped, or none is for a while. It does not ask
 * `counts()`: if that left an event out, nobody would notice.
 */
async function untilEnded(ended: Readonly<Ended>, number: number): Promise<void> {
  const sum = () => ended.delivered + ended.dropped;
  let [seen, since] = [sum(), performance.now()];
  while (sum() < number && performance.now() - since < PATIENCE_MS) {
    await sleep(10);
    if (sum() > seen) [seen, since] = [sum(), performance.now()];
  }
}

function deliverAtOnce(gate: { readonly isOpen: boolean }, ended: Ended): Deliver {
  let underWay = 0;
  return {
    capacity() {
      const limit = gate.isOpen ? CONCURRENCY - underWay : 0;
      return { limit, lanes: limit > 0 ? ENDPOINTS.map((endpoint) => ({ endpoint, limit })) : [] };
    },
    async deliver() {
      underWay++;
      await new Promise(setImmediate);
      underWay--;
      return { type: "delivered" };
    },
    settled: () => ended.delivered++,
  };
}

/** Reports so many events. Waits while too many others do, unless the gate keeps them there. */
async function report(
  { outbox, gate, ended }: Reporting,
  events: number,
  who: () => ReturnType<typeof stranger> | undefined,
): Promise<void> {
  const before = ended.delivered + ended.dropped;
  const ofThese = () => ended.delivered + ended.dropped - before;
  let begun = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (begun < events) {
        if (gate.isOpen && begun - ofThese() > MOST_WAITING) await sleep(10);
        else {
          begun++;
          await outbox.add(sample("payment", who()));
        }
      }
    }),
  );
}

/** How large the tables are, and how long a claim of 8 events takes. */
async function measure(kind: Kind, { sql, claim }: Opened): Promise<Measured> {
  const times: number[] = [];
  for (let nth = 0; nth < CLAIMS; nth++) times.push(await claim(CLAIMED_AT_ONCE));
  // The fastest tenth: slower claims also show the machine's other load.
  const claimMs = times.sort((a, b) => a - b)[CLAIMS / 10] as number;
  const [sizes] = await sql(
    kind === "mysql"
      ? `select sum(if(name like '%affiliate_queues', file_size, 0)) as queues,
           sum(if(name like '%affiliate_events', file_size, 0)) as events
         from information_schema.innodb_sys_tablespaces`
      : `select pg_total_relation_size('affiliate.queues')::text as queues,
           pg_total_relation_size('affiliate.events')::text as events`,
  );
  const [queuesMiB, eventsMiB] = [Number(sizes.queues) / 2 ** 20, Number(sizes.events) / 2 ** 20];
  return { queuesMiB, eventsMiB, claimMs };
}
