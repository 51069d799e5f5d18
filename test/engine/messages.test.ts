import { inspect } from "node:util";
import type { MessagePort, Worker, WorkerOptions } from "node:worker_threads";
import type { Notices } from "express-affiliate";
import { expect, onTestFinished, test, vi } from "vitest";
import { diskOutbox } from "../../src/outbox/disk/disk-outbox.js";
import { until } from "../contract/recorder.js";
import { endWorker } from "../helpers/ending-worker.js";
import { pay } from "../helpers/pay.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startService } from "../helpers/service.js";
import { API_KEY, linesLogger, startTracker } from "../helpers/tracker.js";

const watched = vi.hoisted(() => ({
  sent: [] as unknown[],
  received: [] as unknown[],
  workers: [] as (Worker & { options?: WorkerOptions })[],
}));

vi.mock("node:worker_threads", async (original) => {
  const threads = await original<typeof import("node:worker_threads")>();
  const { endable } = await import("../helpers/ending-worker.js");
  class WatchedWorker extends endable(threads.Worker) {
    constructor(source: string, options: WorkerOptions) {
      super(source, options);
      watched.workers.push(Object.assign(this, { options }));
    }
  }
  class WatchedChannel extends threads.MessageChannel {
    constructor() {
      super();
      const port: MessagePort = this.port1;
      const post = port.postMessage.bind(port);
      port.postMessage = (message: unknown) => {
        watched.sent.push(message);
        post(message);
      };
      port.on("message", (message) => watched.received.push(message));
    }
  }
  return { ...threads, Worker: WatchedWorker, MessageChannel: WatchedChannel };
});

test("a payment takes at most two messages each way between the host and the outbox's thread", async () => {
  const { url } = await startService();
  // So long that the thread does not look after its file meanwhile.
  const outbox = diskOutbox({ directory: scratchDirectory(), leaseMs: 600_000 });
  const tracker = startTracker({ baseUrl: url, outbox });
  const settle = async (paymentId: number) => {
    const delivered = new Promise<Notices["delivered"]>((resolve) => tracker.on("delivered", resolve));
    const receipt = await pay(tracker, paymentId, "s");
    expect(await delivered).toMatchObject({ ...("id" in receipt && { id: receipt.id }), attempts: 1 });
    await until(() => outbox.idle === true, "it has something to do");
  };
  await settle(1);
  const taken: { sent: number; received: number }[] = [];
  for (let nth = 2; nth < 10; nth++) {
    const before = { sent: watched.sent.length, received: watched.received.length };
    await settle(nth);
    taken.push({
      sent: watched.sent.length - before.sent,
      received: watched.received.length - before.received,
    });
  }

  // The thread looks for killed processes twice a second, and tells of that in between.
  expect(Math.min(...taken.map(({ sent }) => sent))).toBe(1);
  expect(Math.min(...taken.map(({ received }) => received))).toBeLessThanOrEqual(2);
  expect(tracker.stats()).toMatchObject({ delivered: 9, queued: 0, inFlight: 0 });
});

test("the key goes to the thread, and is shown nowhere", async () => {
  const { url, posted } = await startService(({ headers }, res) => {
    // A service that repeats what it was sent.
    res.writeHead(400, { "content-type": "application/json" });
    res.end(JSON.stringify({ error: "Bad Request", message: `no: ${headers.authorization}` }));
  });
  const logger = linesLogger();
  const outbox = diskOutbox({ directory: scratchDirectory() });
  const first = watched.received.length;
  const tracker = startTracker({ baseUrl: url, outbox, logger });
  const notices: unknown[] = [];
  const dead = new Promise((resolve) => tracker.on("dead", (notice) => resolve(notices.push(notice))));
  await pay(tracker, 1, "s");
  await dead;
  const worker = watched.workers.at(-1) as (typeof watched.workers)[number];
  await endWorker(worker);
  await pay(tracker, 2, "s");
  const listed = () => tracker.deadLetters.list().catch(() => undefined);
  const letters = await vi.waitUntil(listed, { timeout: 15_000 });

  expect(posted[0]?.headers.authorization).toBe(`Bearer ${API_KEY}`);
  const deeply = { depth: 12, showHidden: true };
  const { workerData, ...options } = worker.options ?? {};
  const shown = [
    ...[worker, options, workerData, tracker, outbox].map((each) => inspect(each, deeply)),
    inspect(watched.received.slice(first), deeply),
    JSON.stringify([letters, notices, logger.lines, tracker.stats()]),
    JSON.stringify(process.report.getReport()),
  ];
  expect(shown.join("\n")).toContain("[redacted]");
  for (const each of shown) expect(each).not.toContain(API_KEY);
});

test("what was paused is open again for a thread that begins anew, and attempts are reported", async () => {
  const { url } = await startService((_request, res) => void res.writeHead(401).end());
  const outbox = diskOutbox({ directory: scratchDirectory() });
  const tracker = startTracker({ baseUrl: url, outbox });
  onTestFinished(() => void watched.workers.splice(0));
  const told: string[] = [];
  const attempted: string[] = [];
  tracker.on("attempt", ({ id }) => attempted.push(id));
  const paused = new Promise((resolve) => tracker.on("paused", resolve));
  tracker.on("resumed", ({ scope }) => told.push(scope));
  for (let nth = 0; nth < 6; nth++) await pay(tracker, nth);
  await paused;
  expect(tracker.stats().state).toBe("paused");

  await endWorker(watched.workers.at(-1) as Worker);

  await until(() => told.includes("lead/payment"), "the pause did not end");
  const before = attempted.length;
  await until(() => attempted.length > before, "no attempt is told");
});
