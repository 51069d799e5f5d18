import type { Outbox } from "express-affiliate";
import { postgresMigrations, postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { receiptTimes } from "../../../src/outbox/fallback.js";
import { openDatabase } from "../../../src/outbox/postgres/database.js";
import { DONE } from "../../../src/outbox/queue/rows.js";
import { idsOf, paying, sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { run } from "../../helpers/deliver.js";
import { around, describeWithPostgres } from "../../helpers/postgres.js";
import { expectTextsKept, testOperations } from "../queue/operations.js";

describeWithPostgres("postgresOutbox", (database) => {
  const { create, reopen, sql } = database;

  async function expectDelivers(outbox: Outbox): Promise<void> {
    const { delivered } = run(outbox);
    const event = sample("payment");
    expect(await outbox.add(event)).toBe("queued");
    await expect.poll(() => delivered).toEqual([event.id]);
  }

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
    await (await reopen()).add(sample("click"));

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

  // Otherwise it would look for them among all settled events, in the order of `seq`.
  test("a full outbox finds the oldest clicks of crowded visitors without a look at settled events", async () => {
    const plans: string[] = [];
    const pool = around(database.pool(), async (run, text) => {
      if (text.includes("order by e.seq")) plans.push(JSON.stringify(await run(`explain ${text}`)));
      return run();
    });
    const outbox = await create({ pool, maxEvents: 1_000 });
    await sql(`
      insert into $schema.events (destination, id, state, kind, endpoint, visitor, place, created_at, queued_at, at_ms,
        report, data, size, interrupted)
        select 42, n, state, 1, 0, case state when 1 then '42 s' || n % 10 else '' end, 0, n, n, n, '', '{}', 2, 0
        from (select n, case when n > 20000 then 1 else ${DONE} end as state from generate_series(1, 21000) as n) as e;
      insert into $schema.queues (visitor, destination, head, place, urgency, endpoint, tried, turn, due_at)
        select visitor, 42, min(seq), 0, 1, 3, 0, 100, 0 from $schema.events where state = 1 group by visitor;
      analyze $schema.events`);
    await outbox.look();

    expect(await outbox.add(sample("payment"))).toBe("queued");
    expect(plans).toEqual([expect.stringContaining("events_by_visitor")]);
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

  test("a server whose role lacks a right rejects with what to do; once it has the right, what waited is delivered", async () => {
    await (await create()).close();
    await sql(`
      create role clerk login;
      grant usage on schema $schema to clerk;
      grant select on $schema.migrations to clerk;
      grant select, insert, update, delete on $schema.queues to clerk;`);
    const outbox = await reopen({ pool: database.pool({ user: "clerk" }), migrate: false });

    await expect(outbox.look()).rejects.toMatchObject({ code: "ERR_AFFILIATE_POSTGRES_RIGHTS" });
    const { delivered, said } = run(outbox);
    const event = sample("payment");
    expect(await outbox.add(event)).toBe("in-memory");
    const says = /permission denied for table events.*docs\/postgres\.md/;
    expect(said).toEqual([expect.stringMatching(says)]);
    expect(outbox.counts().trouble).toMatch(says);
    await sql("grant select, insert, update, delete on $schema.events to clerk");

    await expect.poll(() => delivered, { timeout: 15_000 }).toEqual([event.id]);
  });

  test("a server whose role may not make the tables rejects with the reason", async () => {
    await sql("create role guest login");
    database.schema = "not_made";

    await expect(reopen({ pool: database.pool({ user: "guest" }) })).rejects.toMatchObject({
      code: "ERR_AFFILIATE_POSTGRES_RIGHTS",
      message: expect.stringMatching(/permission denied for database.*migrations --schema not_made/),
    });
  });

  test("a server with a schema that an administrator made needs no right on the database", async () => {
    await sql("create role tenant login; create schema tenants authorization tenant");
    database.schema = "tenants";
    await expectDelivers(await reopen({ pool: database.pool({ user: "tenant" }) }));
  });

  test.each(["repeatable read", "serializable"])(
    "a server is used as ever if its default is %s",
    async (level) => {
      const pool = database.pool({
        options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`,
      });
      await expectDelivers(await create({ pool }));
    },
  );

  test.each([
    ["is cut between them", 1, "queued"],
    ["is cut each time that it is repeated", 3, "in-memory"],
  ] as const)(
    "a registration does not overtake its click when the connection %s",
    async (_, cuts, outcome) => {
      const waiting: (() => void)[] = [];
      let left: number = cuts;
      const cutting = around(database.pool(), async (run, text) => {
        if (left === 0 || !text.startsWith("with n (name)")) return run();
        if (left-- === cuts) await new Promise<void>((resolve) => waiting.push(resolve));
        throw new Error("Connection terminated unexpectedly");
      });
      const outbox = await create({ pool: cutting });
      const { delivered } = run(outbox);
      const [click, ...later] = paying();
      const added = [outbox.add(click)];
      await expect.poll(() => waiting).toHaveLength(1);
      added.push(...later.map((event) => outbox.add(event)));
      waiting[0]?.();

      expect(await Promise.all(added)).toEqual([outcome, outcome, outcome]);
      await expect.poll(() => delivered, { timeout: 15_000 }).toEqual(idsOf([click, ...later]));
    },
  );

  test("closes once the transaction has ended that an event waits for, and stores the others meanwhile", async () => {
    const outbox = await create();
    const event = sample("payment");
    const host = await database.begin();
    await outbox.add(event, host);
    const { withinMs } = receiptTimes;
    receiptTimes.withinMs = 10;
    const held = outbox.add(event);
    receiptTimes.withinMs = withinMs;
    const added = Promise.all(Array.from({ length: 501 }, () => outbox.add(sample("click"))));

    const closing = outbox.close();
    expect(new Set(await added)).toEqual(new Set(["queued"]));
    expect(await held).toBe("in-memory");
    expect(outbox.durable).toBe(false);
    await host.end("commit");
    await closing;

    expect(outbox.durable).toBe(true);
    expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 502 }]);
  });
});
