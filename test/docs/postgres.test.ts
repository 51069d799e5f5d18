import { affiliate } from "express-affiliate";
import { postgresOutbox } from "express-affiliate/postgres";
import { expect, it, onTestFinished } from "vitest";
import { blocksOf, textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { closing, startShop } from "../helpers/docs/shop.js";
import { pay } from "../helpers/pay.js";
import { describeWithPostgres } from "../helpers/postgres.js";

const page = pageToRun("docs/postgres.md");

it("docs/postgres.md grants what is enough in operations.test.ts", () => {
  const [grants] = blocksOf("docs/postgres.md").filter(({ info }) => info === "sql");
  const tested = textOf("test/outbox/postgres/operations.test.ts").replaceAll("$schema", "affiliate");
  for (const grant of grants?.code.trim().split("\n") ?? []) expect(tested).toContain(grant);
  expect(grants?.code).toContain("affiliate.queues to shop;");
});

describeWithPostgres("docs/postgres.md", (database) => {
  it("makes a tracker with the outbox", async () => {
    const { sandbox, service } = await startShop();
    const process = { env: { DATABASE_URL: database.cluster.connectionString } };
    const made = await page.run("The Postgres outbox", { ...service, process });
    onTestFinished(() => made.pool.end());
    await pay(closing(made.tracker));
    await sandbox.ledger.waitFor({ kind: "payment", customerEmail: "ada@shop.example" });
  });

  it("looks at the start whether the outbox can be used", async () => {
    const { service } = await startShop();
    const pool = database.pool();
    const errors: Error[] = [];
    const console = { error: (error: Error) => void errors.push(error) };
    const names = { ...service, pool, affiliate, postgresOutbox, console };
    closing((await page.run("Is it ready?", names)).tracker);
    expect(errors).toEqual([]);
    await pool.query("drop table affiliate.events cascade");
    closing((await page.run("Is it ready?", names)).tracker);
    expect(errors.map(String)).toEqual([expect.stringMatching(/not as they were made.*events/)]);
  });
});
