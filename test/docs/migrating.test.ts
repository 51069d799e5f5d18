import express from "express";
import { type Affiliate, affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { postgresOutbox } from "express-affiliate/postgres";
import { createSandbox, type Sandbox } from "express-affiliate/sandbox";
import { afterEach, describe, expect, it, vi } from "vitest";
import { browser, closing, pageToRun, startShop } from "../helpers/docs/run.js";
import { describeWithPostgres } from "../helpers/postgres.js";
import { scratchDirectory } from "../helpers/scratch.js";
import { linesLogger } from "../helpers/tracker.js";

const page = pageToRun("docs/migrating.md");

const order = { id: "o1", email: "ada@shop.example", total: 19.9 };

afterEach(() => void vi.unstubAllEnvs());

it("docs/migrating.md translates an analytics SDK's calls", async () => {
  const { tracker, sandbox } = await startShop();
  const { affiliateEvents } = await page.run("From an analytics SDK");
  const track = affiliateEvents(tracker);
  const attribution = { clickId: "c1", sessionId: "s1" };
  const { email } = order;
  await tracker.client.click({ affiliateReference: "ALICE", ...attribution });
  await track({ event: "Signed Up", userId: 7, properties: { email, name: "Ada" } }, attribution);
  const paid = { event: "Order Completed", properties: { order_id: "o1", email, revenue: 19.9 } };
  await track(paid, attribution);
  expect(await track(paid, attribution)).toMatchObject({ outcome: "duplicate" });
  expect(await track({ event: "Viewed", properties: {} }, attribution)).toBeUndefined();
  await tracker.flush();
  expect(sandbox.ledger.leads()).toMatchObject([
    { kind: "registration", customerId: "7", affiliateReference: "ALICE" },
    { kind: "payment", leadValue: 19.9, affiliateReference: "ALICE" },
  ]);
});

describe("a backlog", () => {
  const backlog = [
    { ...order, affiliate: { sessionId: "s1" } },
    { ...order, id: "not-referred" },
    { ...order, id: "free", total: 0, affiliate: { sessionId: "s1" } },
    { ...order, id: "o2", total: 5, affiliate: { clickId: "c2", sessionId: "s2" } },
  ];

  async function importing(directory: string, options: Parameters<typeof startShop>[0] = {}) {
    const shop = await startShop({ outbox: diskOutbox({ directory }), ...options });
    const { importOrders } = await page.run("Importing a backlog", { tracker: shop.tracker });
    return { ...shop, importOrders };
  }

  it("is reported once, however often it is imported, by whichever process", async () => {
    const directory = scratchDirectory();
    const { importOrders, sandbox, tracker } = await importing(directory);
    expect(await importOrders(backlog)).toEqual({ queued: 2, duplicate: 0, skipped: 2 });
    expect(await importOrders(backlog)).toEqual({ queued: 0, duplicate: 2, skipped: 2 });
    expect(sandbox.ledger.payments().map(({ leadValue }) => leadValue)).toEqual([19.9, 5]);
    await tracker.close();
    const tomorrow = await importing(directory, { baseUrl: sandbox.url });
    expect(await tomorrow.importOrders(backlog)).toEqual({ queued: 0, duplicate: 2, skipped: 2 });
  });

  it("stops at an order that cannot be reported", async () => {
    const { importOrders } = await importing(scratchDirectory());
    const wrong = { ...order, total: -5, affiliate: { sessionId: "s1" } };
    await expect(importOrders([wrong])).rejects.toThrow("order o1: invalid");
  });

  it("waits for delivery whenever a thousand wait", async () => {
    const waited: number[] = [];
    let queued = 0;
    const tracker = {
      trackPayment: async () => ({ outcome: "queued", id: String(queued++) }),
      stats: () => ({ queued }),
      flush: async () => {
        waited.push(queued);
        queued = 0;
      },
    };
    const { importOrders } = await page.run("Importing a backlog", { tracker });
    const many = Array.from({ length: 2_005 }, () => ({ ...order, affiliate: { sessionId: "s1" } }));
    expect(await importOrders(many)).toMatchObject({ queued: 2_005 });
    expect(waited).toEqual([1_000, 1_000, 5]);
  });
});

describeWithPostgres("several programs", (database) => {
  it("in one app and one database have their own visitors, events and tables", async () => {
    const services = await Promise.all([1001, 1002].map((clientId) => createSandbox({ clientId })));
    const [austrian, swiss] = services as [Sandbox, Sandbox];
    vi.stubEnv("TRACKING_URL", "https://tracking.example");
    vi.stubEnv("TRACKING_API_KEY_AT", austrian.apiKey);
    vi.stubEnv("TRACKING_API_KEY_CH", swiss.apiKey);
    const at: Affiliate[] = [];
    // One service knows one program here, and has several in reality.
    const eachItsOwn: typeof affiliate = (options) => {
      const service = services.find(({ clientId }) => clientId === options.clientId);
      const tracker = affiliate({ ...options, baseUrl: service?.url, logger: linesLogger() });
      at.push(closing(tracker));
      return tracker;
    };
    const app = express();
    const pool = database.pool();
    const checkout = async (req: express.Request, res: express.Response) => {
      res.end();
      return { paymentId: req.body.id, customerEmail: order.email, leadValue: order.total };
    };
    const names = { affiliate: eachItsOwn, postgresOutbox, pool, express, checkout, app };
    await page.run("Several programs", names);
    const visitor = browser(app);
    await visitor.get("/at?ref=ALICE").expect(200);
    await visitor.get("/ch?ref=BEAT").expect(200);
    await visitor.post("/at/checkout").send({ id: "a" }).expect(200);
    await visitor.post("/ch/checkout").send({ id: "c" }).expect(200);
    await visitor.post("/ch/checkout").send({ id: "c" }).expect(200);
    await Promise.all(at.map((tracker) => tracker.flush()));
    expect(austrian.ledger.payments()).toMatchObject([{ affiliateReference: "ALICE" }]);
    expect(swiss.ledger.payments()).toMatchObject([{ affiliateReference: "BEAT" }]);
    const text = "select nspname from pg_namespace where nspname ~ '^affiliate_(at|ch)$' order by 1";
    expect((await pool.query(text)).rows).toEqual([{ nspname: "affiliate_at" }, { nspname: "affiliate_ch" }]);
    await Promise.all(services.map((service) => service.close()));
  });
});
