/**
 * `npm run proof fleet -- --outbox postgres,mysql --events 20000 --visitors 2000`
 *
 * Three processes share an outbox in a PostgreSQL server, or in a MariaDB server, that is started
 * for them; each of a visitor's events is reported through another of the three. The service fails
 * one request in ten. Two of the processes are killed with SIGKILL and replaced, and the server is
 * restarted. In the end every event that was safe must have reached the service, in its visitor's
 * order, payments once; or be held, if it cannot be known whether the service has that payment: no
 * more than were cut off, or under way in a process that was killed or lost its leases meanwhile.
 * Exits with 1 if that is not so.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { DeadLetter } from "express-affiliate";
import { CONCURRENCY, runWorker, type Task, type WorkerOptions } from "./fleet/worker.js";
import { type Kind, kindFrom, open, startServer } from "./outboxes/server.js";
import { allHold, figures } from "./shared/figures.js";
import { commandLine } from "./shared/options.js";
import { answer, fateOf, startService } from "./shared/service.js";
import { keyOf } from "./shared/tracker.js";

const {
  options,
  words: [worker],
} = commandLine({ outbox: "postgres", events: 20_000, visitors: 2_000 });
const kinds = options.outbox.split(",").map(kindFrom);
const WORKERS = 3;
const KILLS = 2;
const FAILURES = 0.1;
const LEASE_MS = 5_000;

if (worker) await runWorker(JSON.parse(worker) as WorkerOptions);
else {
  for (const kind of kinds) {
    if (!(await prove(kind, options.visitors, options.events))) process.exitCode = 1;
  }
}

interface Worker {
  readonly child: ChildProcess;
  /** What it was asked to report, and has not said is safe. */
  readonly asked: Map<string, Task>;
}

async function prove(kind: Kind, visitors: number, events: number): Promise<boolean> {
  const perVisitor = Math.floor(events / visitors);
  const total = visitors * perVisitor;
  const server = await startServer(kind);
  const { service, counts } = await startFaultyService(FAILURES);
  const errors: string[] = [];
  let workers: Worker[] = [];
  let safe = 0;
  let turn = 0;
  console.log(
    `${kind}, Node ${process.version}, ${WORKERS} processes, ${total} events of ${visitors} visitors, ${FAILURES * 100} % failures`,
  );

  workers = Array.from({ length: WORKERS }, startWorker);
  const began = performance.now();
  for (let visitor = 0; visitor < visitors; visitor++) ask({ visitor: `v${visitor}`, nth: 1 });

  await reached(0.2);
  await replaceOne();
  await reached(0.4);
  await server.halt("fast");
  console.log(`  at ${safe} events: the server is stopped, and started again`);
  await sleep(1_000);
  await server.resume();
  await reached(0.7);
  await replaceOne();
  await reached(1);
  const { outbox: onlooker, sql, end } = open(kind, server.uri, { migrate: false });
  while ((await onlooker.look()).queued > 0) await sleep(100);
  const seconds = (performance.now() - began) / 1_000;

  const held = await onlooker.deadLetters.list({ limit: total });
  const rows = await sql(
    kind === "mysql" ? "select id from affiliate_events" : "select id from affiliate.events",
  );
  await onlooker.close();
  await end();
  const last = workers.splice(0);
  for (const { child } of last) child.send("close");
  await Promise.all(last.map(({ child }) => once(child, "exit")));
  await service.goAway();
  await server.destroy();
  return judge(rows, held);

  function startWorker(): Worker {
    const { url } = service;
    const options: WorkerOptions = { url, kind, uri: server.uri, leaseMs: LEASE_MS };
    const worker: Worker = {
      child: fork(fileURLToPath(import.meta.url), [JSON.stringify(options)]),
      asked: new Map(),
    };
    worker.child.on("message", (said: { safe?: Task; error?: string }) => {
      if (said.error) errors.push(said.error);
      if (!said.safe) return;
      worker.asked.delete(taskOf(said.safe));
      safe++;
      const { visitor, nth } = said.safe;
      if (nth < perVisitor) ask({ visitor, nth: nth + 1 });
    });
    worker.child.once("exit", (code, signal) => {
      if (!workers.includes(worker)) return;
      console.error(`a process has ended by itself: ${signal ?? code}`);
      for (const { child } of workers) child.kill("SIGKILL");
      process.exit(1);
    });
    return worker;
  }

  function ask(task: Task): void {
    const worker = workers[turn++ % workers.length] as Worker;
    worker.asked.set(taskOf(task), task);
    worker.child.send([task]);
  }

  async function replaceOne(): Promise<void> {
    const [victim, ...others] = workers as [Worker, ...Worker[]];
    // It gets no more requests, and those that it had go to another.
    workers = others;
    victim.child.removeAllListeners("message").on("error", () => {});
    victim.child.kill("SIGKILL");
    await once(victim.child, "exit");
    console.log(`  at ${safe} events: a process is killed, and replaced`);
    workers = [...others, startWorker()];
    for (const task of victim.asked.values()) ask(task);
  }

  async function reached(share: number): Promise<void> {
    while (safe < total * share) await sleep(5);
  }

  function judge(known: readonly { id: string }[], dead: readonly DeadLetter[]): boolean {
    const { arrivals, requests } = service;
    const unconfirmed = dead.filter(({ reason, kind }) => reason === "unconfirmed" && kind === "payment");
    const held = unconfirmed.map(({ id }) => keyOf(id));
    const interrupted = unconfirmed.filter(({ code }) => code === "ERR_INTERRUPTED").length;
    const keys = known.map(({ id }) => keyOf(id));
    const { lost, paymentsTwice, othersTwice, outOfOrder } = fateOf(keys, arrivals, held);
    for (const error of errors.slice(0, 5)) console.log(`error: ${error}`);
    return allHold(
      figures(
        ["requests", requests],
        ["requests refused", counts.refused],
        ["requests cut off", counts.cutOff],
        ["events lost", total - keys.length + lost, { atMost: 0 }],
        ["events out of order", outOfOrder, { atMost: 0 }],
        ["payments twice", paymentsTwice, { atMost: 0 }],
        ["others twice, after an attempt of which it is unknown how it ended", othersTwice],
        ["payments held: interrupted", interrupted, { atMost: (KILLS + WORKERS) * CONCURRENCY }],
        ["payments held: without an answer", held.length - interrupted, { atMost: counts.cutOff }],
        ["other dead letters", dead.length - held.length, { atMost: 0 }],
        ["errors", errors.length, { atMost: 0 }],
        ["events a second, kills, restart and retries included", Math.round(total / seconds)],
      ),
    );
  }
}

/** Refuses most of this share of requests, and cuts some off before or after it takes the event. */
async function startFaultyService(failures: number) {
  const counts = { refused: 0, cutOff: 0 };
  const service = await startService((res, take) => {
    const luck = res.req.method === "POST" ? Math.random() : 1;
    if (luck < failures * 0.8) {
      counts.refused++;
      res.writeHead(503).end();
      return;
    }
    if (luck >= failures * 0.9) take();
    if (luck >= failures) return answer(res);
    counts.cutOff++;
    res.req.socket.destroy();
  });
  return { service, counts };
}

function taskOf({ visitor, nth }: Task): string {
  return `${visitor} ${nth}`;
}
