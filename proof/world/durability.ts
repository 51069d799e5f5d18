import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, open, startServer } from "../outboxes/server.js";
import { startService } from "../shared/service.js";
import { keyOf, trackerOf } from "../shared/tracker.js";
import { type Figure, figuresOf, type Part } from "./shared/part.js";
import { fateOf, paymentOf } from "./shared/payments.js";

/** A server, and whether it may lose nothing that it has committed. */
interface Case {
  readonly kind: Kind;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly isDurable: boolean;
}

const mysql = (isDurable: boolean, flushes: number, more?: Case["settings"]): Case => ({
  kind: "mysql",
  settings: { "innodb-flush-log-at-trx-commit": flushes, ...more },
  isDurable,
});

const CASES: readonly Case[] = [
  mysql(true, 1),
  mysql(true, 1, { "log-bin": "binlog", "sync-binlog": 1 }),
  mysql(true, 3),
  mysql(false, 2),
  mysql(false, 0),
  mysql(false, 1, { "log-bin": "binlog", "sync-binlog": 0 }),
  { kind: "postgres", settings: { synchronous_commit: "on" }, isDurable: true },
  // The outbox's own transactions do not go by this default. Without a standby, `remote_write` and
  // `remote_apply` are as `local` is.
  { kind: "postgres", settings: { synchronous_commit: "local" }, isDurable: true },
  { kind: "postgres", settings: { synchronous_commit: "off" }, isDurable: true },
];

const EVERY_MS = 5;
const BETWEEN_KILLS_MS = 3_000;

async function prove({ kind, settings, isDurable }: Case, kills: number): Promise<Figure[]> {
  const server = await startServer(kind, settings);
  const service = await startService();
  const { outbox, end } = open(kind, server.uri, { leaseMs: 2_000 });
  await outbox.look();
  const tracker = trackerOf(service.url, { outbox, delivery: { timeoutMs: 600 } });
  /** The keys of payments whose receipts say that they are stored. */
  const stored = new Set<string>();
  let isOver = false;

  const reporting = (async () => {
    for (let nth = 0; !isOver; nth++) {
      void tracker.trackPayment(...paymentOf(nth)).then((receipt) => {
        if (receipt.outcome === "queued" && !receipt.reason) stored.add(keyOf(receipt.id));
      });
      await sleep(EVERY_MS);
    }
  })();
  for (let nth = 0; nth < kills; nth++) {
    await sleep(BETWEEN_KILLS_MS);
    await server.halt("kill");
    await server.resume();
  }
  await sleep(BETWEEN_KILLS_MS);
  isOver = true;
  await reporting;
  const until = performance.now() + 120_000;
  while ((await outbox.look()).queued > 0 && performance.now() < until) await sleep(100);
  const letters = await tracker.deadLetters.list({ limit: 10_000 });

  await tracker.close();
  await end();
  await server.destroy();
  await service.goAway();
  const { lost, twice } = fateOf([...stored], service, letters);
  const bound = isDurable ? { atMost: 0 } : {};
  const words = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return figuresOf(
    [kind, ...words].join(", "),
    ["payments stored", stored.size],
    ["lost", lost, bound],
    ["recorded twice", twice, bound],
    ["held", letters.length],
  );
}

export default {
  title:
    "each process of the database server gets SIGKILL, with each setting that decides how durable a commit is",
  async prove({ short }) {
    const figures: Figure[] = [];
    for (const each of CASES) figures.push(...(await prove(each, short ? 1 : 3)));
    return figures;
  },
} satisfies Part;
