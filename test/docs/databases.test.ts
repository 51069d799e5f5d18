import { affiliate } from "express-affiliate";
import { mysqlMigrations } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import { expect, it, onTestFinished } from "vitest";
import { blocksOf, textOf } from "../helpers/docs/pages.js";
import { closing, pageToRun, startShop } from "../helpers/docs/run.js";
import { describeWithMariaDb } from "../helpers/mysql.js";
import { pay } from "../helpers/pay.js";
import { describeWithPostgres } from "../helpers/postgres.js";

const [postgres, mysql] = [pageToRun("docs/postgres.md"), pageToRun("docs/mysql.md")];
const transactions = pageToRun("docs/transactions.md");

function testTracker(page: typeof mysql, heading: string, url: () => string): void {
  it("makes a tracker with the outbox", async () => {
    const { sandbox, service } = await startShop();
    const made = await page.run(heading, { ...service, process: { env: { DATABASE_URL: url() } } });
    onTestFinished(() => made.pool.end());
    await pay(closing(made.tracker));
    await sandbox.ledger.waitFor({ kind: "payment", customerEmail: "ada@shop.example" });
  });
}

it("docs/postgres.md grants what is enough in operations.test.ts", () => {
  const [grants] = blocksOf("docs/postgres.md").filter(({ info }) => info === "sql");
  const tested = textOf("test/outbox/postgres/operations.test.ts").replaceAll("$schema", "affiliate");
  for (const grant of grants?.code.trim().split("\n") ?? []) expect(tested).toContain(grant);
  expect(grants?.code).toContain("affiliate.queues to shop;");
});

describeWithPostgres("docs/postgres.md", (database) => {
  testTracker(postgres, "The Postgres outbox", () => database.cluster.connectionString);

  it("looks at the start whether the outbox can be used", async () => {
    const { service } = await startShop();
    const pool = database.pool();
    const errors: Error[] = [];
    const console = { error: (error: Error) => void errors.push(error) };
    const names = { ...service, pool, affiliate, postgresOutbox, console };
    closing((await postgres.run("Is it ready?", names)).tracker);
    expect(errors).toEqual([]);
    await pool.query("drop table affiliate.events cascade");
    closing((await postgres.run("Is it ready?", names)).tracker);
    expect(errors.map(String)).toEqual([expect.stringMatching(/not as they were made.*events/)]);
  });
});

describeWithPostgres("docs/transactions.md", (database) => {
  it("lets the transaction fail if the receipt says `rejected`, and commits if it does not", async () => {
    const { tracker } = await startShop({ outbox: await database.create({ maxEvents: 1 }) });
    const client = await database.pool().connect();
    const names = { tracker, client, order: { affiliate: { sessionId: "s1" } } };
    const payment = { paymentId: "o1", customerEmail: "ada@shop.example", leadValue: 19.9 };
    const report = (payment: object) =>
      transactions.run("When the receipt says `rejected`", { ...names, payment });
    await client.query("begin");

    await report(payment);
    const rejected = "the payment cannot be reported: invalid";
    await expect(report({ ...payment, leadValue: "much" })).rejects.toThrow(rejected);

    await expect.poll(() => tracker.stats().delivered).toBe(1);
    client.release();
  });
});

describeWithMariaDb("docs/mysql.md", (database) => {
  testTracker(mysql, "The MySQL outbox", () => database.server.uri);

  it("prints SQL that the server understands", async () => {
    expect(textOf("docs/mysql.md")).toContain('`mysqlMigrations("affiliate_")`');
    await database.pool().query("create database by_hand");
    const pool = database.pool({ database: "by_hand", multipleStatements: true });
    await pool.query(mysqlMigrations("affiliate_").join("\n"));
    const [rows] = await pool.query("show tables");
    expect(rows).toContainEqual({ Tables_in_by_hand: "affiliate_events" });
  });
});
