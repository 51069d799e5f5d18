import express from "express";
import { type Affiliate, affiliate } from "express-affiliate";
import { postgresOutbox } from "express-affiliate/postgres";
import request from "supertest";
import { expect, it } from "vitest";
import { order, returning } from "../helpers/conversions.js";
import { closing, pageToRun, startShop } from "../helpers/docs/run.js";
import { describeWithPostgres } from "../helpers/postgres.js";

const page = pageToRun("docs/serverless.md");

describeWithPostgres("docs/serverless.md", (database) => {
  let platforms = 0;
  async function platform() {
    const { sandbox, service: options } = await startShop();
    const pool = database.pool();
    const schema = `serverless_${++platforms}`;
    const inSchema = (options: object) => postgresOutbox({ ...options, pool, schema });
    const promises: Promise<void>[] = [];
    const waitUntil = (promise: Promise<void>) => void promises.push(promise);
    return { sandbox, promises, names: { options, affiliate, postgresOutbox: inSchema, pool, waitUntil } };
  }

  function shopOf(tracker: Affiliate) {
    const app = express().use(closing(tracker));
    app.post("/", tracker.onPayment(returning(order)));
    return () => request(app).post("/").set("Cookie", "svc_session_id=s1");
  }

  it("hands the host a promise that lasts until the payment is delivered", async () => {
    const { sandbox, promises, names } = await platform();
    const { tracker } = await page.run("Hosts with a `waitUntil`", names);
    await shopOf(tracker)();
    expect(promises).toHaveLength(1);
    await promises[0];
    expect(sandbox.ledger.payments()).toHaveLength(1);
  });

  it("has Lambda return when the payment is delivered", async () => {
    const { sandbox, names } = await platform();
    let pay = async (): Promise<unknown> => undefined;
    const { tracker, handler } = await page.run("Lambda", { ...names, serve: () => pay() });
    pay = shopOf(tracker) as unknown as () => Promise<unknown>;
    await handler();
    expect(sandbox.ledger.payments()).toHaveLength(1);
  });

  it("stores without delivery, and delivers from a worker", async () => {
    const { sandbox, promises, names } = await platform();
    const { options, waitUntil, postgresOutbox: outbox } = names;
    const tracker = affiliate({ ...options, outbox: outbox({}), delivery: false, waitUntil });
    await shopOf(tracker)();
    await promises[0];
    expect(tracker.stats().queued).toBe(1);
    expect(sandbox.ledger.payments()).toEqual([]);

    await page.run("A worker that delivers", names);
    expect(sandbox.ledger.payments()).toHaveLength(1);
  });
});
