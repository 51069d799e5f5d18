/**
 * `npm run proof churn -- --outbox postgres,mysql --events 100000 --rounds 5`
 *
 * Sends events through an outbox in a PostgreSQL server, or in a MariaDB server, that is started
 * for it, round after round, and prints after each how large the tables are and how long a claim of
 * 8 events takes, and in new tables: both must stay what they were. Exits with 1 if an event is
 * dropped or not delivered, if a claim takes more than three times as long as in new tables, if
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
import { secondsUntil } from "./shared/seconds-until.js";

const { options } = commandLine({ outbox: "postgres", events: 100_000, rounds: 5, visitors: 10_000 });
const kinds = options.outbox.split(",").map(kindFrom);
const CONCURRENCY = 256;
const CALLERS = 1_000;
// A table that holds a backlog is large for that: no more than these wait at any moment.
const MOST_WAITING = 2_000;
// The size of a smaller table is chance: InnoDB's file of a table that is larger than an extent grows by
// several.
const LEAST_MIB: Record<Kind, number> = { postgres: 2, mysql: 8 };
const CLAIMS = 100;
const CLAIMED_AT_ONCE = 8;

type Ended = Record<"delivered" | "dropped", number>;
type Measured = Readonly<Record<"queuesMiB" | "eventsMiB" | "claimMs" | "newMs", number>>;

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
  let reported = 0;
  outbox.bind(DESTINATION);
  outbox.start(deliverAtOnce(gate, ended), {
    dropped: () => ended.dropped++,
    degraded: console.error,
    recovered: () => console.error("recovered"),
  });
  for (let round = 1; round <= rounds; round++) {
    const began = performance.now();
    for (let left = events; left > 0; left -= MOST_WAITING) {
      const some = Math.min(left, MOST_WAITING);
      await report(outbox, some, () => people[Math.floor(Math.random() * visitors)]);
      reported += some;
      // It does not ask `counts()`: if that left an event out, nobody would notice.
      await secondsUntil(() => ended.delivered + ended.dropped >= reported, 60);
      await cleaned(kind, opened);
    }
    const seconds = (performance.now() - began) / 1_000;
    gate.isOpen = false;
    // A claim that is still under way would take the events that are to wait behind the gate.
    while (outbox.idle === false) await sleep(1);
    const fresh = open(kind, server.uri, { name: `fresh_${round}` });
    fresh.outbox.bind(DESTINATION);
    for (const each of [outbox, fresh.outbox]) await report(each, CLAIMS * CLAIMED_AT_ONCE, stranger);
    reported += CLAIMS * CLAIMED_AT_ONCE;
    await analyzed(kind, opened, "affiliate");
    await analyzed(kind, fresh, `fresh_${round}`);
    const { queuesMiB, eventsMiB, claimMs, newMs } = await measure(kind, opened, fresh);
    measured.push({ queuesMiB, eventsMiB, claimMs, newMs });
    await fresh.outbox.close();
    await fresh.end();
    // What waits behind the gate is delivered in the next round, and not after the last.
    gate.isOpen = round < rounds;
    console.log(
      `  round ${round}: ${Math.round(events / seconds)} events/s; queues ${queuesMiB.toFixed(1)} MiB, events ${eventsMiB.toFixed(1)} MiB; a claim ${claimMs.toFixed(2)} ms, in new tables ${newMs.toFixed(2)} ms`,
    );
  }
  await outbox.close();
  await opened.end();
  await server.destroy();
  const [first, last] = [measured[0], measured.at(-1)] as [Measured, Measured];
  const slowest = Math.max(...measured.map(({ claimMs, newMs }) => claimMs / newMs));
  const all = reported - CLAIMS * CLAIMED_AT_ONCE;
  return allHold(
    figures(
      ["events dropped", ended.dropped, { atMost: 0 }],
      ["events delivered", ended.delivered, { atLeast: all, atMost: all }],
      ["a claim, in times of one in new tables, at most", slowest, { atMost: 3 }],
      ["queues", last.queuesMiB, { unit: "MiB", atMost: 2 * Math.max(LEAST_MIB[kind], first.queuesMiB) }],
      ["events", last.eventsMiB, { unit: "MiB", atMost: 2 * rounds * first.eventsMiB }],
    ),
  );
}

/** Has the space of deleted rows free: by themselves servers see to it when the machine has time. */
async function cleaned(kind: Kind, { sql }: Opened): Promise<void> {
  if (kind === "postgres") await sql("vacuum affiliate.queues, affiliate.events");
  else {
    const history = () => sql("show global status like 'Innodb_history_list_length'");
    await secondsUntil(async () => Number((await history())[0].Value) < MOST_WAITING, 60);
  }
}

/** Otherwise it is chance with which statistics the server plans a claim. */
async function analyzed(kind: Kind, { sql }: Opened, name: string): Promise<void> {
  await sql(
    kind === "mysql"
      ? `analyze table ${name}_queues, ${name}_events`
      : `analyze ${name}.queues, ${name}.events`,
  );
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

/** Reports so many events. */
async function report(
  outbox: Outbox,
  events: number,
  who: () => ReturnType<typeof stranger> | undefined,
): Promise<void> {
  let begun = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (begun++ < events) await outbox.add(sample("payment", who()));
    }),
  );
}

/** How large the tables are, and how long a claim of 8 events takes, also in new tables. */
async function measure(kind: Kind, { sql, claim }: Opened, fresh: Opened): Promise<Measured> {
  const [times, others]: [number[], number[]] = [[], []];
  // In turn: the machine's other load is that of both.
  for (let nth = 0; nth < CLAIMS; nth++) {
    times.push(await claim(CLAIMED_AT_ONCE));
    others.push(await fresh.claim(CLAIMED_AT_ONCE));
  }
  // The fastest tenth: slower claims also show that load.
  const [claimMs = 0, newMs = 0] = [times, others].map((all) => all.sort((a, b) => a - b)[CLAIMS / 10]);
  const [sizes] = await sql(
    kind === "mysql"
      ? `select sum(if(name like '%affiliate_queues', file_size, 0)) as queues,
           sum(if(name like '%affiliate_events', file_size, 0)) as events
         from information_schema.innodb_sys_tablespaces`
      : `select pg_total_relation_size('affiliate.queues')::text as queues,
           pg_total_relation_size('affiliate.events')::text as events`,
  );
  const [queuesMiB, eventsMiB] = [Number(sizes.queues) / 2 ** 20, Number(sizes.events) / 2 ** 20];
  return { queuesMiB, eventsMiB, claimMs, newMs };
}
