import { drizzle } from "drizzle-orm/node-postgres";
import { jsonb, numeric, pgTable, text } from "drizzle-orm/pg-core";
import knex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import type pg from "pg";
import request from "supertest";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { affiliate } from "../../src/index.js";
import { postgresOutbox } from "../../src/outbox/postgres/index.js";
import { pageToRun } from "../helpers/docs/run.js";
import { closing, startShop } from "../helpers/docs/shop.js";
import { describeWithPostgres } from "../helpers/postgres.js";

const page = pageToRun("docs/postgres.md");

const order = { id: "o1", email: "ada@shop.example", total: 19.9, attribution: { sessionId: "s1" } };
const payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };

const orders = pgTable("orders", {
  id: text(),
  email: text(),
  total: numeric({ mode: "number" }),
  attribution: jsonb(),
});

describeWithPostgres("docs/postgres.md", (database) => {
  beforeAll(async () => {
    await database
      .pool()
      .query("create table orders (id text, email text, total numeric, attribution jsonb)");
  });

  /** Runs the block; the order is there, and its payment was reported, once. */
  async function pays(nth: number, names: object): Promise<void> {
    const pool = database.pool();
    await pool.query("truncate orders");
    const { sandbox, tracker } = await startShop({ outbox: await database.create() });
    await page.run("In your own transaction", { pool, order, payment, orders, tracker, ...names }, { nth });
    await sandbox.ledger.waitFor({ kind: "payment", sessionId: "s1", leadValue: 19.9 });
    expect((await pool.query("select id from orders")).rows).toEqual([{ id: "o1" }]);
    expect(await tracker.trackPayment(payment)).toMatchObject({ outcome: "duplicate" });
  }

  /** A transaction of a library that is not installed here, by what `pg` makes of it. */
  async function inTransaction(body: (client: pg.PoolClient) => Promise<unknown>): Promise<void> {
    const client = await database.pool().connect();
    try {
      await client.query("begin");
      await body(client);
      await client.query("commit");
    } finally {
      client.release();
    }
  }
  const insert = (client: pg.PoolClient) =>
    client.query("insert into orders (id, total) values ($1, $2)", [order.id, order.total]);

  it("makes a tracker with the outbox", async () => {
    const { sandbox } = await startShop();
    const { url: baseUrl, clientId, apiKey } = sandbox;
    const process = { env: { DATABASE_URL: database.cluster.connectionString } };
    const made = await page.run("The Postgres outbox", { baseUrl, clientId, apiKey, process });
    onTestFinished(() => made.pool.end());
    await closing(made.tracker).trackPayment(payment);
    await sandbox.ledger.waitFor({ kind: "payment", customerEmail: order.email });
  });

  it("reports in a transaction of pg", () => pays(0, {}));

  it("reports in a transaction of Drizzle", () => pays(1, { db: drizzle(database.pool()) }));

  it("reports in a transaction of Kysely", () =>
    pays(2, { db: new Kysely({ dialect: new PostgresDialect({ pool: database.pool() }) }) }));

  it("reports in a transaction of Knex", async () => {
    const connected = knex({ client: "pg", connection: database.cluster.connectionString });
    onTestFinished(() => connected.destroy());
    await pays(3, { knex: connected });
  });

  it("reports in a transaction of Prisma's shape", () =>
    pays(4, {
      prisma: {
        $transaction: (body: (tx: object) => Promise<void>) =>
          inTransaction((client) =>
            body({
              order: { create: () => insert(client) },
              $queryRawUnsafe: (text: string, ...values: unknown[]) => client.query(text, values),
            }),
          ),
      },
    }));

  it("reports in a transaction of TypeORM's shape", () =>
    pays(5, {
      dataSource: {
        transaction: (body: (manager: object) => Promise<void>) =>
          inTransaction((client) =>
            body({
              save: () => insert(client),
              query: (text: string, values: unknown[]) => client.query(text, values),
            }),
          ),
      },
    }));

  it("lets the transaction fail where the receipt says `rejected`, and commits where it does not", async () => {
    const outbox = await database.create({ maxEvents: 1 });
    const { tracker } = await startShop({ outbox });
    const client = await database.pool().connect();
    const report = (names: object) =>
      page.run("When the receipt says `rejected`", { tracker, order, client, ...names });
    await client.query("begin");

    await report({ payment });
    const invalid = { ...payment, leadValue: "much" };
    await expect(report({ payment: invalid })).rejects.toThrow("the payment cannot be reported: invalid");

    expect((await outbox.look()).queued + tracker.stats().delivered).toBe(1);
    client.release();
  });

  it("answers a readiness check", async () => {
    const { sandbox, app } = await startShop();
    const { url: baseUrl, clientId, apiKey } = sandbox;
    const pool = database.pool();
    const made = await page.run("Is it ready?", {
      baseUrl,
      clientId,
      apiKey,
      pool,
      app,
      affiliate,
      postgresOutbox,
    });
    closing(made.tracker);

    await request(app).get("/ready").expect(200, { outbox: "ready" });
    await pool.query("drop table affiliate.dead_letters cascade");
    const { body } = await request(app).get("/ready").expect(503);
    expect(body.outbox).toMatch(/not as they were made.*dead_letters/);
  });

  it("prints SQL that PostgreSQL understands", async () => {
    const printed: string[] = [];
    const log = (line: string) => void printed.push(line);
    await page.run("The database's side", { console: { log } });
    await database.pool().query("create database by_hand");
    const pool = database.pool({ database: "by_hand" });
    await pool.query(printed.join("\n"));
    const { rows } = await pool.query("select tablename from pg_tables where schemaname = 'affiliate'");
    expect(rows).toContainEqual({ tablename: "events" });
  });

  it("has no block that is not run", () => {
    expect(page.notRun).toEqual([]);
  });
});
