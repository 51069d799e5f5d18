import express from "express";
import { type AffiliateOptions, memoryOutbox } from "express-affiliate";
import request from "supertest";
import { describe, expect, it } from "vitest";
import { startService } from "../helpers/service.js";
import { linesLogger, startTracker } from "../helpers/tracker.js";

const order = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };
const COOKIES = "svc_click_id=c1; svc_session_id=s1";

async function shop({
  answer,
  ...options
}: Partial<AffiliateOptions> & { answer?: Parameters<typeof startService>[0] } = {}) {
  const { url, posted } = await startService(answer);
  const waited: { promise: Promise<void>; path: string; over: boolean }[] = [];
  const tracker = startTracker({
    baseUrl: url,
    waitUntil(promise, req) {
      const wait = { promise, path: req.path, over: false };
      waited.push(wait);
      void promise.then(() => {
        wait.over = true;
      });
    },
    ...options,
  });
  const app = express().use(tracker);
  app.post(
    "/nothing",
    tracker.onPayment((_req, res) => void res.end()),
  );
  app.post(
    "/order",
    tracker.onPayment((_req, res) => {
      res.end();
      return order;
    }),
  );
  app.post("/both", async (req, res) => {
    await req.affiliate?.trackRegistration({ email: "ada@shop.example" });
    await req.affiliate?.trackPayment(order);
    res.end();
  });
  app.post(
    "/throws",
    tracker.onPayment(() => Promise.reject(new Error("out of stock"))),
  );
  app.post(
    "/picked",
    tracker.onPayment(
      (_req, res) => void res.end(),
      () => order,
    ),
  );
  app.get("/untracked", (_req, res) => void res.end());
  return {
    app,
    tracker,
    posted,
    waited,
    post: (path: string) => request(app).post(path).set("Cookie", COOKIES),
  };
}

/** An outbox as several processes share it, as far as this tracker can tell. */
const shared = () => Object.assign(memoryOutbox(), { name: "shared", durable: true });

describe("waitUntil", () => {
  it("is called once for a request, with a promise that lasts until its events are delivered", async () => {
    const { post, waited, posted } = await shop();
    for (const path of ["/order", "/both"]) {
      waited.length = 0;
      posted.length = 0;
      await post(path);
      expect(waited.map((wait) => wait.path)).toEqual([path]);
      await waited[0]?.promise;
    }
    expect(posted.map(({ path }) => path)).toEqual(["/api/v1/tracking/registration"]);
  });

  it("is called while the host still holds the request, before its response", async () => {
    let calledWith: unknown;
    const { url } = await startService();
    const tracker = startTracker({
      baseUrl: url,
      waitUntil(promise) {
        calledWith = promise;
      },
    });
    const app = express().use(tracker);
    app.post(
      "/",
      tracker.onPayment(async (_req, res) => {
        res.json(calledWith instanceof Promise);
        return order;
      }),
    );
    expect((await request(app).post("/").set("Cookie", COOKIES)).body).toBe(true);
  });

  it.each(["/nothing", "/throws"])("ends for %s, where nothing happened", async (path) => {
    const { post, waited } = await shop();
    await post(path);
    await waited[0]?.promise;
    expect(waited).toHaveLength(1);
  });

  it("ends for a handler with `pick`, too", async () => {
    const { post, waited, posted } = await shop();
    await post("/picked");
    await waited[0]?.promise;
    expect(posted).toHaveLength(1);
  });

  it("is not called for a request that reports nothing", async () => {
    const { app, waited } = await shop();
    await request(app).get("/untracked").set("Cookie", COOKIES);
    expect(waited).toEqual([]);
  });

  it("lasts while a memory outbox retries, and ends at the first failure where the event is safe", async () => {
    let well = false;
    const answer = (_: unknown, res: { statusCode: number }) => {
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

  it("ends while an earlier event of the visitor rests, where the event is safe", async () => {
    const answer = (_: unknown, res: { statusCode: number }) => {
      res.statusCode = 500;
      return {};
    };
    const { post, waited, tracker } = await shop({ answer, outbox: shared() });
    await post("/both");
    await waited[0]?.promise;
    expect(tracker.stats()).toMatchObject({ queued: 2, inFlight: 0, retried: 1 });
  });

  it("ends after the time of one attempt where another process delivers, and says nothing", async () => {
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

  it("ends when the event is stored, where this process does not deliver", async () => {
    const { post, waited, posted, tracker } = await shop({ outbox: shared(), delivery: false });
    await post("/order");
    await waited[0]?.promise;
    expect(tracker.stats()).toMatchObject({ queued: 1, inFlight: 0, state: "open" });
    expect(await tracker.flush()).toEqual({ settled: false, left: 1 });
    expect(posted).toEqual([]);
  });

  it("lasts where the event waits in memory for a storage that fails, and ends when it is stored", async () => {
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
    const logger = linesLogger();
    const { post, tracker } = await shop({
      logger,
      waitUntil() {
        throw new Error("no such request");
      },
    });
    expect((await post("/order")).status).toBe(200);
    await tracker.flush();
    expect(tracker.stats().delivered).toBe(1);
    expect(logger.lines).toEqual(["express-affiliate: `waitUntil` threw: Error: no such request"]);
  });
});
