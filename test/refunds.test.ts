import express from "express";
import type { Payment } from "express-affiliate";
import { recordingOutbox } from "express-affiliate/testing";
import request from "supertest";
import { describe, expect, it, vi } from "vitest";
import { overStorage } from "./helpers/played-storage.js";
import { DAY_MS } from "./helpers/times.js";
import { startTracker, trackerWithService } from "./helpers/tracker.js";

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
const ada = { sessionId: "s1" };
const order: Payment = { paymentId: "order-1", customerEmail: "ada@shop.example", leadValue: 19.9 };

describe("a payment with `notBefore`", () => {
  it("is queued, waits, and is never sent once it is cancelled", async () => {
    const { tracker, posted } = await trackerWithService();
    const scheduled = { ...order, notBefore: inDays(14) };
    expect(await tracker.trackPayment(scheduled, ada)).toMatchObject({ outcome: "queued" });
    expect(await tracker.trackPayment(scheduled, ada)).toMatchObject({ outcome: "duplicate" });
    const { queued, oldestMs, scheduled: counted } = tracker.stats();
    expect({ queued, oldestMs, count: counted?.count }).toEqual({ queued: 1, oldestMs: null, count: 1 });
    expect(counted?.nextInMs).toBeGreaterThan(13 * DAY_MS);

    expect(await tracker.cancelPayment(order.paymentId)).toBe("cancelled");

    expect(tracker.stats().queued).toBe(0);
    expect(await tracker.trackPayment(order, ada)).toMatchObject({ outcome: "duplicate" });
    expect(posted).toEqual([]);
  });

  it("is sent once its time has come, and `notBefore` is not sent", async () => {
    const { tracker, posted } = await trackerWithService();
    const times = [new Date(Date.now() + 50), new Date(0), new Date(), null, undefined];
    for (const [nth, notBefore] of times.entries())
      await tracker.trackPayment({ ...order, paymentId: `order-${nth + 1}`, notBefore }, ada);
    await vi.waitFor(() => expect(posted).toHaveLength(5), { timeout: 10_000 });
    expect(JSON.stringify(posted)).not.toContain("notBefore");
    expect(await tracker.cancelPayment(order.paymentId)).toBe("sent");
    expect(await tracker.cancelPayment("order-9")).toBe("unknown");
  });

  it("holds back neither a process that may freeze, nor `flush()`, nor `close()`", async () => {
    const work: Promise<void>[] = [];
    const { tracker } = await trackerWithService({ waitUntil: (promise) => void work.push(promise) });
    const app = express().use(tracker);
    app.post("/checkout", async (req, res) => {
      await req.affiliate?.trackPayment({ ...order, notBefore: inDays(1) });
      await req.affiliate?.trackPayment({ ...order, paymentId: 2 });
      res.end();
    });
    await request(app).post("/checkout").set("Cookie", "svc_session_id=s1");
    expect(work.length).toBeGreaterThan(0);
    await Promise.all(work);
    expect(tracker.stats()).toMatchObject({ queued: 1, delivered: 1 });
    expect(await tracker.flush({ timeoutMs: 60_000 })).toEqual({ settled: true, left: 1 });
    expect(await tracker.close({ timeoutMs: 60_000 })).toEqual({ left: 1, durable: false });
  });

  it.each([undefined, null, "", "undefined", {}, 1.5])("with the id %s cannot be cancelled", async (id) => {
    const cancelled = startTracker().cancelPayment(id as string);
    await expect(cancelled).rejects.toMatchObject({ code: "ERR_AFFILIATE_ARGUMENT" });
  });
});

it("a recording outbox has scheduled payments among its events, until they are cancelled or erased", async () => {
  const outbox = recordingOutbox();
  const tracker = startTracker({ outbox });
  const notBefore = inDays(14);
  await tracker.trackPayment({ ...order, notBefore }, ada);
  await tracker.trackPayment({ ...order, paymentId: 2 }, ada);
  await tracker.trackRegistration({ email: "bo@shop.example" }, ada);
  expect(outbox.events[0]?.data).toMatchObject({ notBefore: notBefore.getTime() });

  expect(await tracker.cancelPayment("order-1")).toBe("cancelled");
  expect(await tracker.cancelPayment(2)).toBe("sent");
  expect(await tracker.erase({ email: "ADA@shop.example" })).toBe(1);

  expect(outbox.events.map(({ kind }) => kind)).toEqual(["registration"]);
});

it("while the storage fails, a payment in memory is not cancelled: the call rejects, and works once the storage does", async () => {
  let isAway = true;
  const stored: string[] = [];
  const reach = async () => {
    if (isAway) throw new Error("the server is away");
  };
  const { outbox } = overStorage({
    async append({ id }) {
      await reach();
      stored.push(id);
      return "queued";
    },
    claim: async () => reach().then(() => []),
    settle: reach,
    async cancel(id) {
      await reach();
      return stored.includes(id) ? "cancelled" : "unknown";
    },
  });
  const tracker = startTracker({ outbox });
  await tracker.trackPayment({ ...order, notBefore: inDays(1) }, ada);
  await expect(tracker.cancelPayment(order.paymentId)).rejects.toThrow("the server is away");
  isAway = false;
  await vi.waitFor(() => expect(stored).toHaveLength(1), { timeout: 20_000 });
  expect(await tracker.cancelPayment(order.paymentId)).toBe("cancelled");
});
