import { postgresMigrations, postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/postgres/database.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { around, describeWithPostgres } from "../../helpers/postgres.js";
import { expectTextsKept, testOperations } from "../queue/operations.js";

describeWithPostgres("postgresOutbox", (database) => {
  const { create, reopen, sql } = database;

  testOperations(database, {
    name: (tables) => {
      database.schema = tables;
    },
    drop: "drop schema $schema cascade",
    another: () => database.pool({ options: "-c default_transaction_isolation=repeatable\\ read" }),
    async makeByHand() {
      for (const script of postgresMigrations(database.schema)) await sql(script);
    },
    async limited() {
      await sql(`
        create role shop login;
        grant usage on schema $schema to shop;
        grant select on $schema.migrations to shop;
        grant select, insert, update, delete on $schema.events, $schema.queues to shop;`);
      const pool = database.pool({ user: "shop" });
      await expect(pool.query("create table public.own ()")).rejects.toThrow(/permission denied/);
      return pool;
    },
  });

  test.each(["", "pg_mine", "1st", 'a"; drop table users; --', "a".repeat(41), "é"])(
    "refuses %j as a schema's name",
    (schema) => {
      expect(() => postgresOutbox({ pool: database.pool(), schema })).toThrow(/`schema` must be/);
      expect(() => postgresMigrations(schema)).toThrow(/`schema` must be/);
    },
  );

  test("keeps a schema's name as it is spelt", async () => {
    database.schema = "Affiliate_X";
    const outbox = await reopen();
    await outbox.add(sample("click"));

    expect(await sql('select count(*)::int as n from "Affiliate_X".events')).toEqual([{ n: 1 }]);
  });

  test("keeps any text in a database of any encoding", async () => {
    await sql("create database old encoding 'LATIN1' template template0 locale 'C'");
    const pool = database.pool({ database: "old" });
    await using stage = await Stage.open(() => create({ pool }));
    await expectTextsKept(stage);
  });

  test.each([
    ["a bigint", BigInt],
    ["an object", (text: string) => ({ toString: () => text })],
  ] as const)("reads its rows in a process whose own parser makes %s of each number", async (_, parser) => {
    const { INT2, INT8, NUMERIC } = pg.types.builtins;
    const isParsed = new Set<number>([INT2, INT8, NUMERIC]);
    const getTypeParser = (type: number) => (isParsed.has(type) ? parser : pg.types.getTypeParser(type));
    const pool = database.pool({ types: { getTypeParser: getTypeParser as never } });
    await using stage = await Stage.open(() => create({ pool }));
    const event = sample("payment");

    const { live, settle } = await stage.handOver(event);
    expect(live.event).toEqual(event);
    settle({ type: "delivered" });
    await stage.empty();
  });

  // Otherwise it would sort all that wait.
  test("a claim reads no more than it takes from tables that have grown since they were analysed", async () => {
    const claims: string[] = [];
    const pool = around(database.pool(), (run, text) => {
      if (text.includes("-4 as step")) claims.push(text);
      return run();
    });
    await using stage = await Stage.open(() => create({ pool }));
    await sql("alter table $schema.queues set (autovacuum_enabled = off)");
    await (await stage.handOver(sample("click"))).settle({ type: "delivered" });
    await stage.pause();
    await sql(`insert into $schema.queues (visitor, destination, head, place, urgency, endpoint, tried, turn, due_at)
      select '42 s' || n, 42, n, 1, 1, 0, 0, 12, n from generate_series(1000, 100000) as n`);

    const text = claims[0]?.replace("select * from (select -4", "explain $&") as string;
    const plan = (await database.pool().query(text)) as unknown as { rows: object[] }[];
    const lines = JSON.stringify([plan].flat().at(-1)?.rows);
    expect(lines).toMatch(/Index Scan using queues_by_turn/);
    expect(lines).not.toMatch(/Sort|Bitmap|Seq Scan on queues/);
  });

  test("leaves the pool as it found it", async () => {
    const pool = database.pool({ max: 3 });
    const listeners = pool.listenerCount("error");
    await (await create({ pool })).close();
    const stage = await Stage.open(() => reopen({ pool }));
    (await stage.handOver(sample("click"))).settle({ type: "delivered" });
    await stage.close();

    expect((await pool.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
    // A statement from its start may be answered a moment after its end.
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
    expect(pool.listenerCount("error")).toBe(listeners);
  });

  test("a process whose machine is lost in the middle of a transaction keeps its rows locked for 20 more seconds", async () => {
    await (await create()).close();
    const { transaction } = openDatabase(database.pool(), { schema: database.schema, migrate: false });
    const limit = "current_setting('idle_in_transaction_session_timeout') as limit";

    expect(await transaction((tx) => tx.rows(`select ${limit}`))).toEqual([{ limit: "20s" }]);
  });
});
