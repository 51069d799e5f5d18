import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MessagePort, type Worker } from "node:worker_threads";
import type { OutboxEvent } from "express-affiliate";
import { expect, onTestFinished, test, vi } from "vitest";
import { diskOutbox } from "../../../../src/outbox/disk/disk-outbox.js";
import { createOwnerLocks } from "../../../../src/outbox/disk/file/owner-locks.js";
import { lineOf } from "../../../../src/outbox/disk/spool/spool-files.js";
import type { Call } from "../../../../src/outbox/disk/store/calls.js";
import { openLink } from "../../../../src/outbox/disk/thread/link.js";
import { LONG_MS, sample, sampleOf, scheduledSample } from "../../../contract/samples.js";
import { until } from "../../../contract/stage.js";
import { capacityOf } from "../../../helpers/deliver.js";
import { appending, engine, openDisk, someOf } from "../../../helpers/disk-store.js";
import { endWorker } from "../../../helpers/ending-worker.js";
import { scratchDirectory } from "../../../helpers/scratch.js";
import { outboxIn } from "../../../helpers/watched-outbox.js";

const { workers, refusals } = vi.hoisted(() => ({ workers: [] as Worker[], refusals: [] as Error[] }));

vi.mock("node:worker_threads", async (original) => {
  const threads = await original<typeof import("node:worker_threads")>();
  const { endable } = await import("../../../helpers/ending-worker.js");
  class WatchedWorker extends endable(threads.Worker) {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      super(...args);
      workers.push(this);
    }
  }
  return { ...threads, Worker: WatchedWorker };
});

test("the disk outbox starts its thread again if it has ended, has its lock again, and stores what it was asked meanwhile", async () => {
  const directory = scratchDirectory();
  const outbox = outboxIn(directory);
  const events = [sample("payment"), sample("payment"), sample("payment")];
  const [before, during, after] = events as [never, never, never];
  expect(await outbox.add(before)).toBe("queued");

  const adding = outbox.add(during);
  await endWorker(workers[0] as Worker);
  expect(["queued", "in-memory"]).toContain(await adding);
  await outbox.add(after);

  const isWell = () => outbox.counts().trouble === undefined;
  await until(() => isWell() && outbox.counts().queued === 3, "not all was stored");
  for (const event of events) expect(await outbox.add(event)).toBe("duplicate");
  const locks = createOwnerLocks(join(directory, "outbox.db"), { engine, owner: "another" });
  expect(locks.running()).toBe(1);
});

test("the disk outbox has its lock again though nothing is asked of it", async () => {
  const directory = scratchDirectory();
  const outbox = outboxIn(directory, { leaseMs: 3_600_000 });
  expect(await outbox.add(sample("payment"))).toBe("queued");
  const locks = createOwnerLocks(join(directory, "outbox.db"), { engine, owner: "another" });
  await endWorker(workers.at(-1) as Worker);
  expect(locks.running()).toBe(0);
  await until(() => locks.running() === 1, "it has no lock");
});

test("the disk outbox tries again if the machine gives it no thread, and stores what it was asked meanwhile", async () => {
  const outbox = outboxIn();
  const events = someOf("payment", 3) as [OutboxEvent, OutboxEvent, OutboxEvent];
  expect(await outbox.add(events[0])).toBe("queued");
  const refusal = () => new Error("Worker initialization failure: EAGAIN");
  refusals.push(refusal(), refusal());
  await endWorker(workers.at(-1) as Worker);
  // What is asked in the same tick is refused with the thread's end.
  await new Promise(setImmediate);

  expect(await outbox.add(events[1])).toBe("in-memory");
  await until(() => outbox.counts().trouble?.includes("EAGAIN") === true, "the refusal was not told");
  await until(() => outbox.counts().trouble === undefined, "no thread was started again");
  expect(refusals).toEqual([]);
  await outbox.add(events[2]);
  for (const event of events) expect(await outbox.add(event)).toBe("duplicate");
});

test("the disk outbox starts no thread once it is closed, whatever it is asked", async () => {
  const directory = scratchDirectory();
  const outbox = diskOutbox({ directory });
  expect(await outbox.add(sample("payment"))).toBe("queued");
  await outbox.close();
  const before = workers.length;

  const asked = [
    outbox.look(),
    outbox.cancel("id"),
    outbox.erase({ email: "ada@shop.example" }),
    outbox.deadLetters.list(),
    outbox.deadLetters.retryAll(),
  ];
  for (const each of asked) await expect(each).rejects.toMatchObject({ code: "ERR_AFFILIATE_OUTBOX_CLOSED" });
  expect(workers.length).toBe(before);
  expect(outbox.counts().queued).toBe(1);
  expect(readdirSync(directory).sort()).toEqual(["outbox.db"]);
});

test("the disk outbox leaves its file closed though it was still storing what an ended process left", async () => {
  const directory = scratchDirectory();
  const spool = "outbox.db-spool-gone.1";
  const events = someOf("click", 60_000);
  writeFileSync(join(directory, spool), events.map(lineOf).join(""), { mode: 0o600 });
  const outbox = diskOutbox({ directory });
  expect(outbox.counts().queued).toBeLessThan(events.length);
  await outbox.close();
  expect(readdirSync(directory).sort()).toEqual(["outbox.db", spool]);
});

test("what a killed process left is found by `erase` and `cancel` while it is still being stored", async () => {
  const directory = scratchDirectory();
  const [payment, scheduled] = [sampleOf("bob@shop.example", "payment"), scheduledSample(LONG_MS)];
  const lines = [...someOf("click", 20_000), payment, scheduled].map(lineOf).join("");
  writeFileSync(join(directory, "outbox.db-spool-killed.1"), lines, { mode: 0o600 });
  const outbox = diskOutbox({ directory });
  onTestFinished(() => outbox.close());
  expect(outbox.counts().queued).toBeLessThan(20_000);

  expect(await outbox.erase({ email: "bob@shop.example" })).toBe(1);
  expect(await outbox.cancel(scheduled.id)).toBe("cancelled");
});

const POISON = { ...sample("payment"), createdAt: "no time" as never };

function linkOf(directory = scratchDirectory()) {
  const limits = { maxBytes: 2 ** 26, maxDeadLetters: 10, rememberMs: 60_000, leaseMs: 60_000 };
  return openLink(
    { path: join(directory, "outbox.db"), engine, owner: "me", ...limits },
    { onDone() {}, underWay: () => [] },
  );
}

test("the disk outbox's thread is sent one batch at a time, and a claim at once", async () => {
  const link = linkOf();
  onTestFinished(() => link.close());
  const messages = vi.spyOn(MessagePort.prototype, "postMessage").mock.calls;
  const batches = () =>
    messages.flatMap(([{ calls = [] }]) => calls.map(({ name }: Call) => name).join() || []);
  const claim = { name: "claim", args: [capacityOf(8)] } as const;
  const ask = () => Promise.all([appending(sample("payment")), claim].map(link.ask));

  const both = [ask(), ask()];
  expect(batches()).toEqual(["append,claim"]);
  await Promise.all(both);
  expect(batches()).toEqual(["append,claim", "append,claim"]);
});

test.each([
  ["stored", "fulfilled", sample("payment"), 601],
  ["refused", "rejected", POISON, 0],
])(
  "what the disk outbox was asked just before it was closed is all %s, as the first is",
  async (_, become, first, stored) => {
    const directory = scratchDirectory();
    const link = linkOf(directory);
    const asking = [first, ...someOf("payment", 600)].map((event) => link.ask(appending(event)));
    const outcomes = Promise.allSettled(asking);
    await link.close();
    expect(new Set((await outcomes).map(({ status }) => status))).toEqual(new Set([become]));
    expect(openDisk(directory).db.prepare("select count(*) as number from events").get().number).toBe(stored);
  },
);

test("the disk outbox stores nothing of what was asked before the callers have heard of a failure: it would overtake", async () => {
  const link = linkOf();
  onTestFinished(() => link.close());
  const append = (event: OutboxEvent) => link.ask(appending(event));
  const events = someOf("payment", 600);

  const answers = await Promise.allSettled([POISON, ...events].map(append));

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  await new Promise(setImmediate);
  expect(new Set(await Promise.all(events.map(append)))).toEqual(new Set(["queued"]));
});

test("the disk outbox says at the start that another process keeps the file locked, and leaves no thread behind", async () => {
  const directory = scratchDirectory();
  const other = openDisk(directory);
  other.db.exec("begin exclusive");
  const before = workers.length;

  expect(() => diskOutbox({ directory }).counts()).toThrow(
    `another process kept ${join(directory, "outbox.db")} locked`,
  );

  await new Promise((resolve) => workers[before]?.once("exit", resolve));
  expect(workers.length).toBe(before + 1);
  other.close();
});
