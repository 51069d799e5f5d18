import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, open, startServer } from "../outboxes/server.js";
import { type Figure, figuresOf, secondsUntil } from "../shared/figures.js";
import type { Part } from "../shared/part.js";
import { startReporter } from "../shared/reporter.js";
import { startService } from "../shared/service.js";

const PAY_EVERY_MS = 5;
const KILL_EVERY_MS = 3_000;
const FLUSHES = "innodb-flush-log-at-trx-commit";

/** A server that is killed while payments are reported. */
interface Case {
  readonly kind: Kind;
  readonly settings: Readonly<Record<string, string | number>>;
  /** Whether the server may lose what it has committed. */
  readonly mayLose?: true;
}

const CASES: readonly Case[] = [
  { kind: "mysql", settings: { [FLUSHES]: 1 } },
  { kind: "mysql", settings: { [FLUSHES]: 1, "log-bin": "binlog", "sync-binlog": 1 } },
  { kind: "mysql", settings: { [FLUSHES]: 3 } },
  { kind: "mysql", settings: { [FLUSHES]: 2 }, mayLose: true },
  { kind: "mysql", settings: { [FLUSHES]: 0 }, mayLose: true },
  { kind: "mysql", settings: { [FLUSHES]: 1, "log-bin": "binlog", "sync-binlog": 0 }, mayLose: true },
  { kind: "postgres", settings: { synchronous_commit: "on" } },
  // The outbox's own transactions do not go by this default. Without a standby, `remote_write` and
  // `remote_apply` are as `local` is.
  { kind: "postgres", settings: { synchronous_commit: "local" } },
  { kind: "postgres", settings: { synchronous_commit: "off" } },
];

async function prove({ kind, settings, mayLose }: Case, kills: number): Promise<Figure[]> {
  const server = await startServer(kind, settings);
  const service = await startService();
  const { outbox, end } = open(kind, server.uri, { leaseMs: 2_000 });
  await outbox.look();
  const reporter = startReporter(service.url, { outbox, delivery: { timeoutMs: 600 } });
  const reports: Promise<void>[] = [];
  let isOver = false;

  const reporting = (async () => {
    for (let nth = 0; !isOver; nth++) {
      reports.push(reporter.report("payment", `payer-${nth}`));
      await sleep(PAY_EVERY_MS);
    }
  })();
  for (let nth = 0; nth < kills; nth++) {
    await sleep(KILL_EVERY_MS);
    await server.halt("kill");
    await server.resume();
  }
  await sleep(KILL_EVERY_MS);
  isOver = true;
  await reporting;
  await Promise.all(reports);
  // A payment that stood still for long pauses all of them: 45 s, or more.
  await secondsUntil(async () => (await outbox.look()).queued === 0);

  const rows = await reporter.end(service, {}, mayLose ? {} : { atMost: 0 });
  await end();
  await server.destroy();
  const name = [kind, ...Object.entries(settings).map(([name, value]) => `${name} ${value}`)].join(", ");
  return figuresOf(name, ["kills", kills], ...rows);
}

export default {
  title: "a database server that gets SIGKILL, with each setting that decides how durable a commit is",
  async prove({ short }) {
    const figures: Figure[] = [];
    for (const each of CASES) figures.push(...(await prove(each, short ? 1 : 3)));
    return figures;
  },
} satisfies Part;
