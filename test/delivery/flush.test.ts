import { setTimeout as sleep } from "node:timers/promises";
import type { Outbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { recordingOutbox } from "express-affiliate/testing";
import { expect, it } from "vitest";
import { answering, closedPort, faultyService } from "../helpers/faulty-service.js";
import { pay } from "../helpers/pay.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";

// So long that the test fails by its own time limit if `flush` waits for it.
const TIMEOUT_MS = 600_000;

const startDurable = (baseUrl: string) =>
  startTracker({ baseUrl, outbox: diskOutbox({ directory: scratchDirectory() }) });

/** A tracker with an outbox of which this test says what it has to do. */
function startWith(outbox: Partial<Outbox>) {
  const merged = Object.defineProperties(
    { ...recordingOutbox(), durable: true, idle: true },
    Object.getOwnPropertyDescriptors(outbox),
  );
  return startTracker({ outbox: merged });
}

const countsOf = (queued: number, trouble?: { trouble: string }) => ({
  ...{ queued, dead: { rejected: 0, unconfirmed: 0, expired: 0 }, oldest: null },
  ...trouble,
});

it.each([
  ["as soon as nothing more can be delivered now", 0],
  // The outbox's thread looks for killed processes twice a second.
  ["at once if the service has been out of reach for a while", 1_200],
])("of a durable outbox returns %s, and says what is left", async (_name, afterMs) => {
  const tracker = startDurable(`http://127.0.0.1:${await closedPort()}`);
  const paused = new Promise((resolve) => tracker.on("paused", resolve));
  for (let n = 0; n < 20; n++) await pay(tracker, n);
  if (afterMs > 0) {
    await paused;
    await sleep(afterMs);
  }

  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: false, left: 20 });
});

it("flush of a durable outbox delivers first what can be delivered, and leaves what is refused", async () => {
  const service = await faultyService();
  service.onRequest = (socket, request, nth) =>
    answering(request.body.includes("poison") ? 500 : 200)(socket, request, nth);
  const tracker = startDurable(service.url);
  await pay(tracker, "poison");
  for (let n = 1; n < 50; n++) await pay(tracker, n);

  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: false, left: 1 });
  expect(tracker.stats().delivered).toBe(49);
});

it("flush of the memory outbox waits until its time is up: what is left would be lost", async () => {
  const tracker = startTracker({ baseUrl: `http://127.0.0.1:${await closedPort()}` });
  await pay(tracker);

  expect(await tracker.flush({ timeoutMs: 300 })).toEqual({ settled: false, left: 1 });
});

it("flush counts anew what a shared storage holds, before it begins and before it says that events are left", async () => {
  // Another process has stored an event by the first count, and delivers it before the second.
  const counted = [1, 0];
  let queued = 0;
  let isWoken = false;
  const tracker = startWith({
    counts: () => countsOf(queued),
    async look() {
      queued = counted.shift() ?? 0;
      return countsOf(queued);
    },
    wake() {
      isWoken = queued === 1;
    },
  });
  expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
  expect([counted, isWoken]).toEqual([[], true]);
});

it("`flush` does not say that all is settled while the storage fails: it may hold events that nobody has counted", async () => {
  let trouble: { trouble: string } | undefined = { trouble: "no space is left" };
  const tracker = startWith({ counts: () => countsOf(0, trouble) });

  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: false, left: 0 });
  trouble = undefined;
  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: true, left: 0 });
});

it("`flush` does not say that all is settled before it has counted: an earlier process may have left events", async () => {
  const failing = Promise.reject(new Error("the connection was lost"));
  const looks = [failing, failing, Promise.resolve(countsOf(0))];
  const tracker = startWith({
    counts: () => countsOf(0),
    look: () => looks.shift() ?? new Promise(() => {}),
  });
  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: true, left: 0 });
  expect(looks).toEqual([]);
  expect(await tracker.flush({ timeoutMs: 0 })).toEqual({ settled: false, left: 0 });
});

it("`flush` leaves the outbox its turn, however often it is called", async () => {
  // Another process has the event, and has not yet said how it ended.
  const tracker = startWith({ counts: () => countsOf(1) });
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  expect(await tracker.flush()).toEqual({ settled: false, left: 1 });
  expect(hasTurned).toBe(true);
});
