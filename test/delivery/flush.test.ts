import { setTimeout as sleep } from "node:timers/promises";
import { diskOutbox } from "express-affiliate/disk";
import type { Outbox } from "express-affiliate/outbox";
import { recordingOutbox } from "express-affiliate/testing";
import { expect, it } from "vitest";
import { answering, closedPort, faultyService } from "../helpers/faulty-service.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { startTracker } from "../helpers/tracker.js";

// So long that the test fails by its own time limit where `flush` waits for it.
const TIMEOUT_MS = 600_000;

const payment = (paymentId: number) => ({ paymentId, customerEmail: "a@shop.example", leadValue: 1 });

it("of a durable outbox returns as soon as nothing more can be delivered now, and says what is left", async () => {
  const tracker = startTracker({
    baseUrl: `http://127.0.0.1:${await closedPort()}`,
    outbox: diskOutbox({ directory: scratchDirectory() }),
  });
  for (let n = 0; n < 20; n++) await tracker.trackPayment(payment(n), { sessionId: `s${n}` });

  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: false, left: 20 });
});

it("of a durable outbox does not wait for a service that has been out of reach for a while", async () => {
  const tracker = startTracker({
    baseUrl: `http://127.0.0.1:${await closedPort()}`,
    outbox: diskOutbox({ directory: scratchDirectory() }),
  });
  const paused = new Promise((resolve) => tracker.on("paused", resolve));
  for (let n = 0; n < 20; n++) await tracker.trackPayment(payment(n), { sessionId: `s${n}` });
  await paused;
  // The outbox's thread looks for killed processes twice a second.
  await sleep(1_200);

  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: false, left: 20 });
});

it("of a durable outbox delivers first what can be delivered, and leaves what is refused", async () => {
  const service = await faultyService();
  service.onRequest = (socket, request, nth) =>
    answering(request.body.includes("poison") ? 500 : 200)(socket, request, nth);
  const tracker = startTracker({
    baseUrl: service.url,
    outbox: diskOutbox({ directory: scratchDirectory() }),
  });
  await tracker.trackPayment(payment(0), { sessionId: "poison" });
  for (let n = 1; n < 50; n++) await tracker.trackPayment(payment(n), { sessionId: `s${n}` });

  expect(await tracker.flush({ timeoutMs: TIMEOUT_MS })).toEqual({ settled: false, left: 1 });
  expect(tracker.stats().delivered).toBe(49);
});

it("of the memory outbox waits until its time is up: what is left would be lost", async () => {
  const tracker = startTracker({ baseUrl: `http://127.0.0.1:${await closedPort()}` });
  await tracker.trackPayment(payment(1), { sessionId: "s" });

  expect(await tracker.flush({ timeoutMs: 300 })).toEqual({ settled: false, left: 1 });
});

it("delivers what a shared storage turns out to hold: an outbox that had nothing to do looks again", async () => {
  let queued = 0;
  let idle = true;
  const counts = () => ({ queued, dead: { rejected: 0, unconfirmed: 0, expired: 0 }, oldest: null });
  const shared: Outbox = {
    ...recordingOutbox(),
    durable: true,
    get idle() {
      return idle;
    },
    counts,
    // Another process has stored an event.
    async look() {
      queued = 1;
      return counts();
    },
    wake() {
      if (queued === 0) return;
      idle = false;
      setTimeout(() => {
        queued = 0;
        idle = true;
      }, 10);
    },
  };
  const tracker = startTracker({ baseUrl: "http://127.0.0.1:1", outbox: shared });
  expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
});

it("leaves the outbox its turn, however often it is called", async () => {
  const tracker = startTracker({
    baseUrl: "http://127.0.0.1:1",
    outbox: {
      ...recordingOutbox(),
      durable: true,
      idle: true,
      // Another process has it, and has not yet said how it ended.
      counts: () => ({ queued: 1, dead: { rejected: 0, unconfirmed: 0, expired: 0 }, oldest: 0 }),
    },
  });
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  expect(await tracker.flush()).toEqual({ settled: false, left: 1 });
  expect(hasTurned).toBe(true);
});

it("counts anew before it says that events are left: another process may have delivered them", async () => {
  let queued = 1;
  let isRested = false;
  const counts = () => ({ queued, dead: { rejected: 0, unconfirmed: 0, expired: 0 }, oldest: null });
  const tracker = startTracker({
    baseUrl: "http://127.0.0.1:1",
    outbox: {
      ...recordingOutbox(),
      durable: true,
      get idle() {
        isRested = true;
        return true;
      },
      counts,
      async look() {
        if (isRested) queued = 0;
        return counts();
      },
    },
  });

  expect(await tracker.flush()).toEqual({ settled: true, left: 0 });
});
