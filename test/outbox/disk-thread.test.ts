import type { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { diskOutbox } from "../../src/outbox/disk.js";
import { until } from "../../src/testing/hands.js";
import { sample } from "../../src/testing/samples.js";
import { scratchDirectory } from "../helpers/scratch.js";

const workers = vi.hoisted(() => [] as Worker[]);

vi.mock("node:worker_threads", async (original) => {
  const threads = await original<typeof import("node:worker_threads")>();
  class WatchedWorker extends threads.Worker {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      workers.push(this);
    }
  }
  return { ...threads, Worker: WatchedWorker };
});

test("starts its thread again where it has ended, and stores what it was asked meanwhile", async () => {
  const outbox = diskOutbox({ directory: scratchDirectory() });
  onTestFinished(() => outbox.close());
  const events = [sample("payment"), sample("payment"), sample("payment")];
  const [before, during, after] = events as [never, never, never];
  expect(await outbox.add(before)).toBe("queued");

  const adding = outbox.add(during);
  await workers[0]?.terminate();
  expect(["queued", "sheltered"]).toContain(await adding);
  await outbox.add(after);

  await until(() => outbox.durable && outbox.counts().queued === 3, "not all was stored");
  for (const event of events) expect(await outbox.add(event)).toBe("duplicate");
});
