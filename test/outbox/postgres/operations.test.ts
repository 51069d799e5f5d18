import { postgresMigrations, postgresOutbox } from "express-affiliate/postgres";
import { expect, test } from "vitest";
import { openDatabase } from "../../../src/outbox/postgres/database.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { expectTextsKept, testOperations } from "../queue/operations.js";

describeWithPostgres("postgresOutbox", (database) => {
  const { create, reopen, sql } = database;

  testOperations(database, {
    name: (tables) => {
      database.schema = tables;
    },
    drop: "drop schema $schema cascade",
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
