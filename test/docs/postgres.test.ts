import { affiliate } from "express-affiliate";
import { postgresOutbox } from "express-affiliate/postgres";
import request from "supertest";
import { expect, it, onTestFinished } from "vitest";
import { pageToRun } from "../helpers/docs/run.js";
import { closing, startShop } from "../helpers/docs/shop.js";
import { pay } from "../helpers/pay.js";
import { describeWithPostgres } from "../helpers/postgres.js";

const page = pageToRun("docs/postgres.md");

describeWithPostgres("docs/postgres.md", (database) => {
  it("makes a tracker with the outbox", async () => {
    const { sandbox, service } = await startShop();
    const process = { env: { DATABASE_URL: database.cluster.connectionString } };
    const made = await page.run("The Postgres outbox", { ...service, process });
    onTestFinished(() => made.pool.end());
    await pay(closing(made.tracker));
    await sandbox.ledger.waitFor({ kind: "payment", customerEmail: "ada@shop.example" });
  });

  it("answers a readiness check", async () => {
    const { service, app } = await startShop();
    const pool = database.pool();
    const made = await page.run("Is it ready?", { ...service, pool, app, affiliate, postgresOutbox });
    closing(made.tracker);

    await request(app).get("/ready").expect(200, { outbox: "ready" });
    await pool.query("drop table affiliate.events cascade");
    const { body } = await request(app).get("/ready").expect(503);
    expect(body.outbox).toMatch(/not as they were made.*events/);
  });
});
