import { mysqlMigrations } from "express-affiliate/mysql";
import { expect, it, onTestFinished } from "vitest";
import { textOf } from "../helpers/docs/pages.js";
import { pageToRun } from "../helpers/docs/run.js";
import { closing, startShop } from "../helpers/docs/shop.js";
import { describeWithMariaDb } from "../helpers/mysql.js";
import { pay } from "../helpers/pay.js";

const page = pageToRun("docs/mysql.md");

describeWithMariaDb("docs/mysql.md", (database) => {
  it("makes a tracker with the outbox", async () => {
    const { sandbox, service } = await startShop();
    const process = { env: { DATABASE_URL: database.server.uri } };
    const made = await page.run("The MySQL outbox", { ...service, process });
    onTestFinished(() => made.pool.end());
    await pay(closing(made.tracker));
    await sandbox.ledger.waitFor({ kind: "payment", customerEmail: "ada@shop.example" });
  });

  it("prints SQL that the server understands", async () => {
    expect(textOf("docs/mysql.md")).toContain('`mysqlMigrations("affiliate_")`');
    await database.pool().query("create database by_hand");
    const pool = database.pool({ database: "by_hand", multipleStatements: true });
    await pool.query(mysqlMigrations("affiliate_").join("\n"));
    const [rows] = await pool.query("show tables");
    expect(rows).toContainEqual({ Tables_in_by_hand: "affiliate_events" });
  });
});
