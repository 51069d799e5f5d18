import { mysqlOutbox } from "express-affiliate/mysql";
import { type Connection, createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { receiptTimes } from "../../../src/outbox/fallback.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { around, describeWithMariaDbServer } from "../../helpers/mysql.js";
import { reportIn } from "../../helpers/sql-database.js";
import { trackerWithService } from "../../helpers/tracker.js";
import { expectRejected, inShape, shapes, testTransactions } from "../queue/transactions.js";

/** The report is rejected with these words, and the transaction takes no more, and is not committed. */
async function expectUndone(transaction: Connection, report: Promise<unknown>, says: RegExp): Promise<void> {
  const message = expect.stringMatching(says);
  await expect(report).rejects.toMatchObject({ code: "ERR_AFFILIATE_TRANSACTION", message });
  await expect(transaction.query("insert into stock values (9, 9)")).rejects.toThrow();
  await expect(transaction.commit()).rejects.toThrow();
  transaction.destroy();
}

describeWithMariaDbServer("mysqlOutbox in the host's own transaction", (database) => {
  const { create, sql, begin } = database;

  testTransactions(database, {
    isolations: ["repeatable read", "read committed", "serializable", "read uncommitted"],
    limits: { "set innodb_lock_wait_timeout = 1": "Lock wait timeout" },
    poolOfOne: () => database.pool({ connectionLimit: 1 }),
  });

  describe.each(Object.entries(shapes))("if the server's errors come %s", (_how, shape) => {
    test("what is committed after the transaction's snapshot is a duplicate too", async () => {
      await using stage = await Stage.open(() => create());
      const event = sample("payment");
      const host = await begin();
      await host.run(`select count(*) from ${database.prefix}events`);
      await stage.add(event);

      expect(await stage.outbox.add(event, { transaction: inShape(host, shape) })).toBe("duplicate");
      await host.end("commit");
    });

    test("a transaction that was the first report of all finds its tables made", async () => {
      await sql("drop table if exists first_events, first_migrations");
      const first = mysqlOutbox({ pool: database.pool(), prefix: "first_" });
      const host = await begin();
      await host.run("select 1");

      const transaction = inShape(host, shape);
      expect(await first.add(sample("payment"), { transaction })).toBe("queued");
      await host.end("commit");
      expect((await first.look()).queued).toBe(1);
      await first.close();
    });
  });

  test("a report of what an open transaction has reported waits for its end, and holds up no other", async () => {
    receiptTimes.withinMs = 1_000;
    await using stage = await Stage.open(() => create());
    const event = sample("payment");
    const host = await begin();
    await stage.outbox.add(event, host);

    const again = stage.outbox.add(event);
    const others = [sample("payment"), sample("click")];
    for (const other of others) expect(await stage.outbox.add(other)).toMatch(/queued|in-memory/);
    expect(await again).toBe("in-memory");
    await expect.poll(() => sql("select count(*) as n from $prefixevents")).toEqual([{ n: 2 }]);
    await host.end("rollback");

    await expect.poll(() => sql("select count(*) as n from $prefixevents")).toEqual([{ n: 3 }]);
  });

  test("a report that a gap's lock holds up is stored once the gap is free, and no sooner taken for stored", async () => {
    receiptTimes.withinMs = 1_000;
    await using stage = await Stage.open(() => create());
    const host = await begin();
    await host.run(`select id from ${database.prefix}events for update`);

    // The second one's receipt comes after the server has given up the first one's statement.
    const events = [sample("payment"), sample("payment")];
    for (const event of events) expect(await stage.outbox.add(event)).toBe("in-memory");
    await host.end("rollback");

    await expect.poll(() => stage.outbox.durable).toBe(true);
    const stored = await sql("select id from $prefixevents order by id");
    expect(stored).toEqual(events.map(({ id }) => ({ id })).sort((a, b) => (a.id < b.id ? -1 : 1)));
  });

  test("events that are given their places keep no others from theirs", async () => {
    const free: unknown[] = [];
    const pool = around(database.pool(), async (run, text) => {
      const answer = await run();
      if (text.includes("state = 0") && text.includes("skip locked"))
        free.push(await sql("select count(*) as n from $t.events where state = 0 for update skip locked"));
      return answer;
    });
    await using stage = await Stage.open(() => create({ pool }));
    stage.hold();
    const events = Array.from({ length: 101 }, () => sample("payment"));
    await reportIn(await begin(), stage.outbox, ...events);

    await stage.add(sample("payment"));
    expect(free).toContainEqual([{ n: 1 }]);
  });

  test.each(["a pool's connection", "a connection of its own"])(
    "a transaction that the server undoes in a deadlock cannot be committed in part: %s",
    async (which) => {
      await using stage = await Stage.open(() => create());
      for (const table of ["stock", "others"]) {
        await sql(`create or replace table ${table} (id integer primary key, n integer)`);
        await sql(`insert into ${table} values (1, 10), (2, 10), (3, 10), (4, 10), (5, 10)`);
      }
      const event = sample("payment");
      const one = await begin();
      const two =
        which === "a pool's connection"
          ? await database.pool().getConnection()
          : await createConnection(database.server.connection);
      await two.beginTransaction();
      // The one that has written more is kept.
      await one.run("update others set n = n - 1");
      await stage.outbox.add(event, one);
      await two.query("update stock set n = n - 1 where id = 1");
      const reported = stage.outbox.add(event, { transaction: two });
      reported.catch(() => {});
      // The server shows what it showed before to those who ask again within 100 ms.
      await expect
        .poll(
          () => sql("select count(*) as n from information_schema.innodb_trx where trx_state = 'LOCK WAIT'"),
          { interval: 200 },
        )
        .toEqual([{ n: 1 }]);
      await one.run("update stock set n = n - 1 where id = 1");

      await expectUndone(two, reported, /run the transaction again/);
      await one.end("commit");
      expect(await sql("select n from stock where id in (1, 9)")).toEqual([{ n: 9 }]);
    },
  );

  test("a report that fails because a table is gone leaves the order's transaction unharmed", async () => {
    const tracked = await trackerWithService({ outbox: await create({ migrate: false }) });

    await expectRejected(tracked, await begin(), /are missing or of an earlier version|doesn.t exist/);
  });
});

describeWithMariaDbServer(
  "mysqlOutbox on a server that undoes a transaction after a long wait",
  (database) => {
    test("lets no half of it be committed", async () => {
      const outbox = await database.create();
      const event = sample("payment");
      const one = await database.begin();
      await outbox.add(event, one);
      await database.sql("create table stock (id integer primary key, n integer)");
      const transaction = await createConnection(database.server.connection);
      await transaction.query("set innodb_lock_wait_timeout = 1");
      await transaction.beginTransaction();
      await transaction.query("insert into stock values (1, 10)");

      const reported = outbox.add(event, { transaction });
      await expectUndone(transaction, reported, /Lock wait timeout.*run the transaction again/);
      await one.end("commit");
      expect(await database.sql("select id from stock")).toEqual([]);
    });
  },
  { "innodb-rollback-on-timeout": "on" },
);
