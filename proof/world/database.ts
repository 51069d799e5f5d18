import { setTimeout as sleep } from "node:timers/promises";
import { type Kind, type Opened, open, type Server, startServer, UNFLUSHED } from "../outboxes/server.js";
import { type Figure, figuresOf } from "../shared/figures.js";
import { secondsUntil } from "../shared/seconds-until.js";
import { fateOf, startService } from "../shared/service.js";
import { keyOf, trackerOf } from "../shared/tracker.js";
import type { Part } from "./shared/part.js";
import { paymentOf } from "./shared/payments.js";

/** A database server to which something happens again and again while payments are reported. */
interface Case {
  readonly kind: Kind;
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly payEveryMs: number;
  readonly happensEveryMs: number;
  /** What happens, in words. */
  readonly what: string;
  /** Resolves to whether it has happened. */
  happen(at: { readonly server: Server; readonly others: Opened }): Promise<boolean>;
  /** Whether neither receipts nor held payments show it. */
  readonly isUnnoticed?: true;
  /** Whether the server may lose what it has committed. */
  readonly mayLose?: true;
  /** Default: the outbox's own, and the delivery's. */
  readonly leaseMs?: number;
  readonly timeoutMs?: number;
}

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

const FLUSHES = "innodb-flush-log-at-trx-commit";
const connectionsEnd = (kind: Kind): Case => ({
  kind,
  settings: UNFLUSHED[kind],
  payEveryMs: 40,
  happensEveryMs: 4_000,
  what: "connections ended",
  isUnnoticed: true,
  async happen({ others }) {
    const [row] = await others.sql(END_ONE[kind]);
    if (row && kind === "mysql") await others.sql(`kill ${row.id}`).catch(() => {});
    return row !== undefined;
  },
});

const killed = (kind: Kind, settings: Case["settings"] = {}, mayLose?: true): Case => ({
  kind,
  settings,
  payEveryMs: 5,
  happensEveryMs: 3_000,
  what: "kills",
  leaseMs: 2_000,
  timeoutMs: 600,
  async happen({ server }) {
    await server.halt("kill");
    await server.resume();
    return true;
  },
  ...(mayLose && { mayLose }),
});

const KILLS: readonly Case[] = [
  killed("mysql", { [FLUSHES]: 1 }),
  killed("mysql", { [FLUSHES]: 1, "log-bin": "binlog", "sync-binlog": 1 }),
  killed("mysql", { [FLUSHES]: 3 }),
  killed("mysql", { [FLUSHES]: 2 }, true),
  killed("mysql", { [FLUSHES]: 0 }, true),
  killed("mysql", { [FLUSHES]: 1, "log-bin": "binlog", "sync-binlog": 0 }, true),
  killed("postgres", { synchronous_commit: "on" }),
  // The outbox's own transactions do not go by this default. Without a standby, `remote_write` and
  // `remote_apply` are as `local` is.
  killed("postgres", { synchronous_commit: "local" }),
  killed("postgres", { synchronous_commit: "off" }),
];

async function prove(each: Case, times: number): Promise<Figure[]> {
  const { kind, settings = {}, payEveryMs, happensEveryMs, happen, leaseMs, timeoutMs } = each;
  const server = await startServer(kind, settings);
  const service = await startService();
  const { outbox, end } = open(kind, server.uri, { ...(leaseMs && { leaseMs }) });
  const others = open(kind, server.uri, { migrate: false });
  await outbox.look();
  let failures = 0;
  const warn = (line: unknown) => void (/the storage of .* fails/.test(`${line}`) && failures++);
  const logger = { warn, error() {} };
  const tracker = trackerOf(service.url, { outbox, logger, ...(timeoutMs && { delivery: { timeoutMs } }) });
  /** The keys of payments whose receipts say that they are queued. */
  const queued: string[] = [];
  const words: string[] = [];
  const reports: Promise<void>[] = [];
  let isOver = false;

  async function pay(nth: number): Promise<void> {
    const receipt = await tracker.trackPayment(...paymentOf(nth));
    words.push("reason" in receipt && receipt.reason ? receipt.reason : receipt.outcome);
    if (receipt.outcome === "queued") queued.push(keyOf(receipt.id));
  }
  const reporting = (async () => {
    for (let nth = 0; !isOver; nth++) {
      reports.push(pay(nth));
      await sleep(payEveryMs);
    }
  })();
  let happened = 0;
  for (let nth = 0; nth < times; nth++) {
    await sleep(happensEveryMs);
    if (await happen({ server, others })) happened++;
  }
  await sleep(happensEveryMs);
  isOver = true;
  await reporting;
  await Promise.all(reports);
  // A payment that stood still for long pauses all of them: 45 s, or more.
  await secondsUntil(async () => (await outbox.look()).queued === 0);
  const { queued: waiting } = outbox.counts();
  const letters = await tracker.deadLetters.list({ limit: 10_000 });

  await tracker.close();
  await Promise.all([end(), others.end()]);
  await server.destroy();
  await service.goAway();
  const { lost, paymentsTwice } = fateOf(
    queued,
    service.arrivals,
    letters.map(({ id }) => keyOf(id)),
  );
  const bound = each.mayLose ? {} : { atMost: 0 };
  const unnoticed = (atMost: number) => (each.isUnnoticed ? { atMost } : {});
  const said = (word: string) => words.filter((one) => one === word).length;
  return figuresOf(
    [kind, ...Object.entries(settings).map(([name, value]) => `${name} ${value}`)].join(", "),
    [each.what, happened, { atLeast: Math.max(1, times - 1) }],
    ["payments", queued.length, { atLeast: 1 }],
    ["notices of a storage that fails", failures, unnoticed(0)],
    ["receipts that say storage-trouble", said("storage-trouble")],
    ["receipts that do not say queued", words.length - queued.length, { atMost: 0 }],
    ["still queued", waiting, { atMost: 0 }],
    ["lost", lost, bound],
    ["recorded twice", paymentsTwice, bound],
    ["held", letters.length, unnoticed(0)],
  );
}

export default {
  title:
    "a database server whose connections end, and one that gets SIGKILL, with each setting that decides how durable a commit is",
  async prove({ short }) {
    const kinds: readonly Kind[] = ["postgres", "mysql"];
    const ended = kinds.map((kind) => prove(connectionsEnd(kind), short ? 5 : 15));
    const figures = (await Promise.all(ended)).flat();
    for (const each of KILLS) figures.push(...(await prove(each, short ? 1 : 3)));
    return figures;
  },
} satisfies Part;
