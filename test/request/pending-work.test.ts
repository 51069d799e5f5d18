import express from "express";
import { type AffiliateOptions, memoryOutbox } from "express-affiliate";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { COOKIES, order, returning, throwing } from "../helpers/conversions.js";
import type { Answer } from "../helpers/service.js";
import { trackerWithService } from "../helpers/tracker.js";

async function shop({ answer, ...options }: Partial<AffiliateOptions> & { answer?: Answer } = {}) {
  const waited: { promise: Promise<void>; path: string; over: boolean }[] = [];
  const waitUntil: AffiliateOptions["waitUntil"] = (promise, req) => {
    const wait = { promise, path: req.path, over: false };
    waited.push(wait);
    void promise.then(() => {
      wait.over = true;
    });
  };
  const { tracker, posted, lines } = await trackerWithService({ waitUntil, ...options }, answer);
  const app = express().use(tracker);
  app.post("/order", tracker.onPayment(returning(order)));
  app.post("/both", async (req, res) => {
    await req.affiliate?.trackRegistration({ email: "ada@shop.example" });
    await req.affiliate?.trackPayment(order);
    res.end();
  });
  app.get("/untracked", (_req, res) => void res.end());
  const post = (path: string) => request(app).post(path).set("Cookie", COOKIES);
  return { app, tracker, posted, lines, waited, post };
}

const fails: Answer = (_request, res) => {
  res.statusCode = 500;
  return {};
};

/** An outbox as several processes share it, as far as this tracker can tell. */
const shared = () => Object.assign(memoryOutbox(), { name: "shared", durable: true });

describe("waitUntil", () => {
  it("is called once for a request, with a promise that lasts until its events are delivered", async () => {
    const { app, post, waited, posted } = await shop();
    // Not called for a request that reports nothing.
    await request(app).get("/untracked").set("Cookie", COOKIES);
    expect(waited).toEqual([]);
    for (const path of ["/order", "/both"]) {
      waited.length = 0;
      posted.length = 0;
      await post(path);
      expect(waited.map((wait) => wait.path)).toEqual([path]);
      await waited[0]?.promise;
    }
    expect(posted.map(({ path }) => path)).toEqual(["/api/v1/tracking/registration"]);
  });

  it("is called again for what a request reports after that promise has ended", async () => {
    const { app, post, waited, posted } = await shop();
    app.post("/twice", async (req, res) => {
      await req.affiliate?.trackPayment(order);
      await waited[0]?.promise;
      await req.affiliate?.trackPayment({ ...order, paymentId: "later" });
      res.end();
    });
    await post("/twice");
    await waited[1]?.promise;
    expect([waited.length, posted.length]).toEqual([2, 2]);
  });

  it("is called while the host still holds the request, before its response", async () => {
    const { app, tracker, waited, post } = await shop();
    const answers = tracker.onPayment((_req, res) => void res.json(waited[0]?.promise instanceof Promise));
    app.post("/early", answers);
    expect((await post("/early")).body).toBe(true);
  });

  it("lasts while a memory outbox retries, and ends at the first failure if the event is safe", async () => {
    let well = false;
    const answer: Answer = (_request, res) => {
      if (!well) res.statusCode = 500;
      return { success: well };
    };
    const retried = (tracker: Awaited<ReturnType<typeof shop>>["tracker"]) =>
      new Promise((resolve) => void tracker.on("retry", resolve));

    const inMemory = await shop({ answer });
    const failed = retried(inMemory.tracker);
    await inMemory.post("/order");
    await failed;
    expect(inMemory.waited[0]?.over).toBe(false);
    well = true;
    await inMemory.waited[0]?.promise;
    expect(inMemory.tracker.stats().delivered).toBe(1);

    well = false;
    const safe = await shop({ answer, outbox: Object.assign(memoryOutbox(), { durable: true }) });
    await safe.post("/order");
    await safe.waited[0]?.promise;
    expect(safe.tracker.stats()).toMatchObject({ delivered: 0, queued: 1 });
  });

  it("ends when a memory outbox erases the event, and not when it erases another", async () => {
    const { post, waited, tracker } = await shop({ answer: fails });
    const other = { ...order, paymentId: "other", customerEmail: "bo@shop.example" };
    await post("/order");
    await tracker.trackPayment(other, {}, { matchByEmail: true });
    // What is under way is not erased.
    while ((await tracker.erase({ email: other.customerEmail })) === 0);
    expect(waited[0]?.over).toBe(false);
    while ((await tracker.erase({ email: order.customerEmail })) === 0);
    await waited[0]?.promise;
    expect(tracker.stats()).toMatchObject({ queued: 0, delivered: 0 });
  });

  it("ends while an earlier event of the visitor rests, if the event is safe", async () => {
    const { post, waited, tracker } = await shop({ answer: fails, outbox: shared() });
    await post("/both");
    await waited[0]?.promise;
    expect(tracker.stats()).toMatchObject({ queued: 2, inFlight: 0, retried: 1 });
  });

  it("ends after the time of one attempt if another process delivers, and says nothing", async () => {
    const outbox = shared();
    // Another process claims first.
    const { post, waited, tracker } = await shop({
      outbox: Object.defineProperties(outbox, { start: { value() {} }, idle: { value: false } }),
      delivery: { timeoutMs: 200 },
    });
    await post("/order");
    await waited[0]?.promise;
    expect(tracker.stats()).toMatchObject({ queued: 1, delivered: 0 });
  });

  it("ends when the event is stored, if this process does not deliver", async () => {
    const { post, waited, posted, tracker } = await shop({ outbox: shared(), delivery: false });
    await post("/order");
    await waited[0]?.promise;
    expect(tracker.stats()).toMatchObject({ queued: 1, inFlight: 0, state: "open" });
    expect(await tracker.flush()).toEqual({ settled: false, left: 1 });
    expect(posted).toEqual([]);
  });

  it("lasts if the event waits in memory for a storage that fails, and ends when it is stored", async () => {
    const outbox = shared();
    Object.defineProperty(outbox, "durable", { value: true, configurable: true });
    const { post, waited } = await shop({ outbox, delivery: false });
    Object.defineProperty(outbox, "durable", { value: false, configurable: true });
    await post("/order");
    await new Promise((resolve) => setImmediate(resolve));
    expect(waited[0]?.over).toBe(false);
    Object.defineProperty(outbox, "durable", { value: true });
    await waited[0]?.promise;
  });

  it("harms nothing when it throws", async () => {
    const { post, tracker, lines } = await shop({ waitUntil: throwing("no such request") });
    expect((await post("/order")).status).toBe(200);
    await tracker.flush();
    expect(tracker.stats().delivered).toBe(1);
    expect(lines).toEqual(["express-affiliate: `waitUntil` threw: Error: no such request"]);
  });
});
