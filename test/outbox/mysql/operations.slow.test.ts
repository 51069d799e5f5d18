import { inspect } from "node:util";
import { mysqlMigrations, mysqlOutbox } from "express-affiliate/mysql";
import { expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { around, describeWithMariaDbServer } from "../../helpers/mysql.js";
import { expectTextsKept, testOperations } from "../queue/operations.js";

describeWithMariaDbServer("mysqlOutbox", (database) => {
  const { create, sql } = database;

  testOperations(database, {
    name: (tables) => {
      database.prefix = tables;
    },
    drop: "drop table $t.events, $t.migrations",
    another: () => database.pool(),
    async makeByHand() {
      const pool = database.pool({ multipleStatements: true });
      for (const script of mysqlMigrations(database.prefix)) await pool.query(script);
    },
    async limited() {
      const { prefix } = database;
      await sql("create user least identified by 'least'");
      await sql(`grant select on shop.${prefix}migrations to least`);
      for (const table of ["events", "queues"])
        await sql(`grant select, insert, update, delete on shop.${prefix}${table} to least`);
      const pool = database.pool({ user: "least", password: "least" });
      await expect(pool.query("create table own (id integer)")).rejects.toThrow(/denied/);
      return pool;
    },
  });

  test.each(["", "1st", "a`; drop table users; --", "a".repeat(41), "é"])(
    "refuses %j as a prefix",
    (prefix) => {
      expect(() => mysqlOutbox({ pool: database.pool(), prefix })).toThrow(/`prefix` must be/);
      expect(() => mysqlMigrations(prefix)).toThrow(/`prefix` must be/);
    },
  );

  test.each([
    ["no pool", {}],
    ["a pool of mysql2, without promises", { getConnection() {}, promise() {} }],
  ])("refuses %s", (_, pool) => {
    expect(() => mysqlOutbox({ pool: pool as never })).toThrow(/createPool\(\) of mysql2\/promise/);
  });

  test.each(
    Object.entries({
      "the server's own": "set @nothing = 1",
      "no backslash escapes": "set sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT'",
      "no strictness": "set sql_mode = ''",
      ansi: "set sql_mode = 'ANSI'",
      oracle: "set sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL,STRICT_ALL_TABLES'",
      traditional:
        "set sql_mode = 'TRADITIONAL,ONLY_FULL_GROUP_BY,HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION'",
      latin1: "set names latin1",
      "a time zone far ahead": "set time_zone = '+13:00'",
      "read committed": "set session transaction isolation level read committed",
      serializable: "set session transaction isolation level serializable",
      "autocommit off": "set autocommit = 0",
      "safe updates": "set sql_safe_updates = 1",
      "a database whose name reads like SQL": "use `is it ''ü''?`",
    }),
  )("keeps any text, and works as ever, in a session with %s", async (_, statement) => {
    await sql("create database if not exists `is it ''ü''?`");
    const pool = database.pool();
    pool.on("connection", (connection) => void connection.query(statement));
    await using stage = await Stage.open(() => create({ pool }));
    await expectTextsKept(stage);
    const client = await pool.getConnection();
    await client.beginTransaction();
    expect(await stage.outbox.add(sample("payment"), { transaction: client })).toBe("queued");
    await client.commit();
    client.release();
    await stage.delivery.deliverNext();
  });

  test("commits nothing of a transaction within which the host has given its connection back", async () => {
    await sql("create table if not exists orders (id integer)");
    const pool = database.pool({ connectionLimit: 1 });
    const outbox = await create({ pool });
    const client = await pool.getConnection();
    await client.beginTransaction();
    await client.query("insert into orders values (1)");
    client.release();

    await outbox.look();
    expect(await outbox.add(sample("payment"))).toBe("queued");
    expect(await sql("select id from orders")).toEqual([]);
  });

  test("finds its tables on a connection on which the host has chosen another database", async () => {
    await sql("create database `tenant``1`");
    const pool = database.pool({ connectionLimit: 1 });
    await using stage = await Stage.open(() => create({ pool }));
    const client = await pool.getConnection();
    await client.query("use `tenant``1`");
    await client.beginTransaction();
    expect(await stage.outbox.add(sample("payment"), { transaction: client })).toBe("queued");
    await client.commit();
    client.release();
    stage.start();
    await stage.delivery.deliverNext();
    expect(await sql("show tables from `tenant``1`")).toEqual([]);
  });

  test("reads its rows in a pool that gives them in another shape", async () => {
    const bigNumbers = { supportBigNumbers: true, bigNumberStrings: true };
    const pool = database.pool({ rowsAsArray: true, ...bigNumbers, typeCast: false });
    await using stage = await Stage.open(() => create({ pool }));
    const event = sample("payment");
    expect((await stage.handOver(event)).live.event).toEqual(event);
  });

  test("a full outbox has room for a payment if another process claims the oldest clicks meanwhile", async () => {
    let toClaim = 0;
    const meddled = around(database.pool(), async (run, text) => {
      const result = await run();
      const found = text.endsWith(" as p101") ? (result[0] as { visitor: string }[]) : [];
      for (const { visitor } of found.slice(0, toClaim)) {
        await sql("update $prefixqueues set turn = 101, claimed_by = 'another' where visitor = ?", [visitor]);
        toClaim--;
      }
      return result;
    });
    await using stage = await Stage.open(() => create({ pool: meddled, maxEvents: 8 }));
    stage.hold();
    for (let nth = 0; nth < 8; nth++) await stage.add(sample("click"));
    toClaim = 5;

    expect(await stage.outbox.add(sample("payment"))).toBe("queued");
    expect(toClaim).toBe(0);
  });

  test("keeps nothing of a visitor once the event is delivered", async () => {
    await using stage = await Stage.open(() => create());
    (await stage.handOver(sample("registration"))).settle({ type: "delivered" });
    await stage.empty();

    expect(
      await sql("select visitor, alias, alias_2, data, amount, history, death from $prefixevents"),
    ).toEqual([
      { visitor: "", alias: null, alias_2: null, data: "", amount: null, history: null, death: null },
    ]);
  });

  test("no error tells a customer's address by the text of the statement that failed", async () => {
    const outbox = await create();
    await sql("alter table $prefixevents add constraint nothing check (data = '')");
    await outbox.add(sample("payment"));
    const error = await outbox.erase({ clickId: "c1" }).catch(inspect);
    expect(error).toMatch(/`nothing` failed/);
    expect(error).not.toMatch(/@shop/);
  });

  test("leaves no lock and no transaction behind", async () => {
    const pool = database.pool();
    await using stage = await Stage.open(() => create({ pool }));
    stage.deliverAll();
    await stage.add(sample("payment"), sample("click"));
    await stage.empty();

    // The server shows what it showed before to those who ask again within 100 ms.
    await expect
      .poll(() => sql("select trx_id from information_schema.innodb_trx"), { interval: 200 })
      .toEqual([]);
    const [rows] = await pool.query("select @@innodb_lock_wait_timeout as patience");
    expect(rows).toEqual([{ patience: 50 }]);
  });
});
