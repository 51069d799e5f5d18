/**
 * `npm run proof churn -- --outbox postgres,mysql --events 100000 --rounds 5`
 *
 * Sends events through an outbox in a PostgreSQL server, or in a MariaDB server, that is started
 * for it, round after round, and prints after each how large the tables are and how long it took:
 * both must stay what they were. Exits with 1 if an event is dropped or not delivered, if a round
 * takes more than three times as long as another, if the table of queues is more than twice as large
 * (and larger than 4 MiB, in MariaDB 16), or if that of events grows faster than there are more ids
 * that it remembers.
 */
import { sample, stranger } from "../test/contract/samples.js";
import { type Kind, kindFrom, type Opened, open, startServer } from "./outboxes/server.js";
import { allHold, exactly, secondsUntil } from "./shared/figures.js";
import { deliverMany, reportMany } from "./shared/load.js";
import { commandLine } from "./shared/options.js";

const { options } = commandLine({ outbox: "postgres", events: 100_000, rounds: 5, visitors: 10_000 });
const kinds = options.outbox.split(",").map(kindFrom);
const CONCURRENCY = 256;
// A table that holds a backlog is large for that: no more than these wait at any moment.
const MOST_WAITING = 2_000;
// The size of a smaller table is chance: InnoDB's file of a table that is larger than an extent grows by
// several.
const LEAST_MIB: Record<Kind, number> = { postgres: 2, mysql: 8 };

type Measured = Awaited<ReturnType<typeof sizesOf>> & { readonly seconds: number };

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

  let [reported, delivered] = [0, 0];
  const counts = deliverMany(outbox, { atOnce: CONCURRENCY, answerMs: 0, settled: () => delivered++ });
  for (let round = 1; round <= rounds; round++) {
    let seconds = 0;
    for (let left = events; left > 0; left -= MOST_WAITING) {
      const some = Math.min(left, MOST_WAITING);
      const began = performance.now();
      await reportMany(outbox, some, () => sample("payment", people[Math.floor(Math.random() * visitors)]));
      reported += some;
      // It does not ask `counts()`: if that left an event out, nobody would notice.
      await secondsUntil(() => delivered + counts.dropped >= reported, 60);
      seconds += (performance.now() - began) / 1_000;
      await cleaned(kind, opened);
    }
    const { queuesMiB, eventsMiB } = await sizesOf(kind, opened);
    measured.push({ seconds, queuesMiB, eventsMiB });
    console.log(
      `  round ${round}: ${Math.round(events / seconds)} events/s; queues ${queuesMiB.toFixed(1)} MiB, events ${eventsMiB.toFixed(1)} MiB`,
    );
  }
  await outbox.close();
  await opened.end();
  await server.destroy();
  const [first, last] = [measured[0], measured.at(-1)] as [Measured, Measured];
  const times = measured.map(({ seconds }) => seconds);
  return allHold(
    ["events dropped", counts.dropped, { atMost: 0 }],
    ["events delivered", delivered, exactly(reported)],
    ["the slowest round, in times of the fastest", Math.max(...times) / Math.min(...times), { atMost: 3 }],
    ["queues", last.queuesMiB, { unit: "MiB", atMost: 2 * Math.max(LEAST_MIB[kind], first.queuesMiB) }],
    ["events", last.eventsMiB, { unit: "MiB", atMost: 2 * rounds * first.eventsMiB }],
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

async function sizesOf(kind: Kind, { sql }: Opened) {
  const [sizes] = await sql(
    kind === "mysql"
      ? `select sum(if(name like '%affiliate_queues', file_size, 0)) as queues,
           sum(if(name like '%affiliate_events', file_size, 0)) as events
         from information_schema.innodb_sys_tablespaces`
      : `select pg_total_relation_size('affiliate.queues')::text as queues,
           pg_total_relation_size('affiliate.events')::text as events`,
  );
  return { queuesMiB: Number(sizes.queues) / 2 ** 20, eventsMiB: Number(sizes.events) / 2 ** 20 };
}
