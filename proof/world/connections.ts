import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, open, startServer } from "../outboxes/server.js";
import { startService } from "../shared/service.js";
import { keyOf, trackerOf } from "../shared/tracker.js";
import { type Figure, figuresOf, type Part } from "./shared/part.js";
import { fateOf, paymentOf } from "./shared/payments.js";

const A_SECOND = 25;
const ENDED_EVERY_MS = 4_000;

/** Ends one of the others' connections, rather one that runs a statement. */
const END_ONE: Readonly<Record<Kind, string>> = {
  postgres: `
    select pg_terminate_backend(pid) from (
      select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
      order by state = 'active' desc, random() limit 1) as one`,
  mysql: `
    select id from information_schema.processlist where id <> connection_id() and user = 'shop'
    order by command <> 'Sleep' desc, rand() limit 1`,
};

async function proveOn(kind: Kind, seconds: number): Promise<Figure[]> {
  const server = await startServer(kind);
  const service = await startService();
  const { outbox, end } = open(kind, server.uri);
  const others = open(kind, server.uri);
  await outbox.look();
  const tracker = trackerOf(service.url, { outbox });
  const outcomes: string[] = [];
  const keys: (string | undefined)[] = [];
  let ended = 0;

  const over = new AbortController();
  const ending = (async () => {
    while (!over.signal.aborted) {
      await sleep(ENDED_EVERY_MS, undefined, { signal: over.signal }).catch(() => {});
      const [row] = await others.sql(END_ONE[kind]);
      if (!row) continue;
      if (kind === "mysql") await others.sql(`kill ${row.id}`).catch(() => {});
      ended++;
    }
  })();
  const reports: Promise<unknown>[] = [];
  for (let nth = 0; nth < seconds * A_SECOND; nth++) {
    reports.push(
      tracker.trackPayment(...paymentOf(nth)).then((receipt) => {
        outcomes.push("reason" in receipt ? `${receipt.reason}` : receipt.outcome);
        keys.push("id" in receipt ? keyOf(receipt.id) : undefined);
      }),
    );
    await sleep(1_000 / A_SECOND);
  }
  await Promise.all(reports);
  over.abort();
  await ending;
  await tracker.flush({ timeoutMs: 60_000 });
  const held = await tracker.deadLetters.list({ limit: 1_000 });

  await tracker.close();
  await Promise.all([end(), others.end()]);
  await server.destroy();
  await service.goAway();
  const { lost, twice } = fateOf(keys, service, held);
  return figuresOf(
    kind,
    ["payments reported", outcomes.length],
    ["connections ended", ended, { atLeast: Math.floor((seconds * 1_000) / ENDED_EVERY_MS) - 1 }],
    ["receipts that say storage-trouble", numberOf("storage-trouble", outcomes), { atMost: 4 }],
    ["receipts that say duplicate", numberOf("duplicate", outcomes), { atMost: 0 }],
    ["lost", lost, { atMost: 0 }],
    ["held", held.length, { atMost: 0 }],
    ["recorded twice", twice, { atMost: 0 }],
  );
}

const numberOf = (word: string, words: readonly string[]) => words.filter((each) => each === word).length;

export default {
  title: "one of the outbox's connections is ended every four seconds, on PostgreSQL and MariaDB",
  async prove({ short }) {
    const seconds = short ? 20 : 60;
    return (await Promise.all([proveOn("postgres", seconds), proveOn("mysql", seconds)])).flat();
  },
} satisfies Part;
