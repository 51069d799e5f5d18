import { postgresMigrations, postgresOutbox } from "express-affiliate/postgres";
import { expect, test } from "vitest";
import { retryIn } from "../../../src/testing/contract/recorder.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { REJECTED, Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

describeWithPostgres("operations", (database) => {
  const { create, reopen, sql } = database;
  const listeningSessions = () =>
    sql("select from pg_stat_activity where datname = current_database() and query like 'listen%'");

  test("several processes that start at the same moment make the tables once", async () => {
    const pool = database.pool();
    const outboxes = Array.from({ length: 4 }, () => postgresOutbox({ pool, schema: "at_once" }));

    await Promise.all(outboxes.map((outbox) => outbox.look()));

    expect(await sql("select version from at_once.migrations")).toEqual([{ version: 1 }]);
    await Promise.all(outboxes.map((outbox) => outbox.close()));
  });

  test("makes no tables where it is told not to, and stores what waited once they are made", async () => {
    database.schema = "by_hand";
    const outbox = await reopen({ migrate: false });

    expect(await outbox.add(sample("payment"))).toBe("in-memory");
    expect(outbox.counts()).toMatchObject({
      queued: 1,
      trouble: expect.stringMatching(/schema "by_hand" are missing.*postgresMigrations\("by_hand"\)/),
    });
    for (const script of postgresMigrations("by_hand")) await sql(script);

    await expect.poll(() => outbox.durable, { timeout: 10_000 }).toBe(true);
    expect(await sql("select count(*)::int as n from by_hand.events")).toEqual([{ n: 1 }]);
    await outbox.close();
  });

  test("leaves tables alone that a later version made", async () => {
    await (await create()).close();
    await sql("insert into $schema.migrations (version) values (2)");

    await expect(reopen()).rejects.toMatchObject({
      code: "ERR_AFFILIATE_POSTGRES_NEWER",
      message: expect.stringContaining("install the newer express-affiliate"),
    });
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
    await outbox.close();
  });

  test("keeps any text in a database of any encoding", async () => {
    await sql("create database old encoding 'LATIN1' template template0 locale 'C'");
    const pool = database.pool({ database: "old" });
    await using stage = await Stage.open(() => create({ pool }));
    const texts = ["a\u0000b", "\u{1F600} łódź", "\ud800", "'; drop table events; --", "{null}", '\\ "'];
    stage.start();
    for (const customerName of texts) {
      const event = sample("registration");
      const odd = { ...event, data: { ...event.data, customerName } } as typeof event;
      await stage.add(odd);
      const { live, settle } = await stage.delivery.next();
      expect(live.event).toEqual(odd);
      settle({ type: "dead", ...REJECTED, message: customerName });
      await stage.empty();
    }
    expect((await stage.outbox.deadLetters.list()).map(({ message }) => message)).toEqual(texts);
  });

  test("does all its work with no more rights than docs/postgres.md names", async () => {
    await (await create()).close();
    await sql(`
      create role shop login;
      grant usage on schema $schema to shop;
      grant select on $schema.migrations to shop;
      grant select, update on $schema.clock to shop;
      grant select, insert, update, delete on $schema.events, $schema.scheduled, $schema.known_ids, $schema.dead_letters,
        $schema.circuits
        to shop;`);
    const pool = database.pool({ user: "shop" });
    await expect(pool.query("create table public.own ()")).rejects.toThrow(/permission denied/);
    const small = { pool, maxEvents: 2, maxDeadLetters: 1, migrate: false } as const;

    await using stage = await Stage.open(() => reopen(small));
    const { outbox, delivery } = stage;
    await stage.giveUp([sample("payment")]);
    // The second makes the first give way, perhaps before it is counted that there were two.
    await stage.add(sample("payment"));
    (await delivery.next()).settle({ type: "dead", ...REJECTED });
    await expect.poll(() => delivery.dropped.length).toBe(1);
    const [letter] = await outbox.deadLetters.list();
    expect(await outbox.deadLetters.retry(letter?.id as string)).toBe(true);
    (await delivery.next()).settle(retryIn(1));
    (await delivery.next()).settle({ type: "dead", ...REJECTED });
    await expect.poll(() => outbox.counts().dead.rejected).toBe(1);
    expect(await outbox.deadLetters.discard(letter?.id as string)).toBe(true);
    delivery.capacity = 0;
    // A claim that began before has ended.
    await expect.poll(() => outbox.idle).toBe(true);
    await stage.add(sample("click"), sample("click"), sample("payment"));
    expect(delivery.dropped.at(-1)?.reason).toBe("full");
    const client = await pool.connect();
    await client.query("begin");
    expect(await outbox.add(sample("payment"), { transaction: client })).toBe("queued");
    delivery.capacity = 8;
    await client.query("commit");
    client.release();
    for (let nth = 0; nth < 2; nth++) await delivery.deliverNext();
  });

  test("leaves the pool as it found it", async () => {
    const pool = database.pool({ max: 3 });
    const listeners = pool.listenerCount("error");
    await (await create({ pool })).close();
    const stage = await Stage.open(() => reopen({ pool }));
    stage.start();
    await stage.add(sample("click"));
    await stage.delivery.deliverNext();
    await stage.close();

    expect((await pool.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
    // A statement from its start may be answered a moment after its end.
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
    expect(pool.listenerCount("error")).toBe(listeners);
    // The server ends a session a moment after its connection.
    await expect.poll(listeningSessions).toEqual([]);
  });

  test("hears of what a transaction commits, long before it would look", async () => {
    const pool = database.pool();
    await using stage = await Stage.open(() => create({ pollMs: 3_600_000 }));
    stage.start();
    // Once it delivers this, what it does at the start is behind it.
    await expect.poll(listeningSessions).toHaveLength(1);
    const client = await pool.connect();
    await client.query("begin");
    const event = sample("payment");
    await stage.outbox.add(event, { transaction: client });
    await client.query("commit");
    client.release();

    expect(await stage.delivery.deliverNext()).toBe(event.id);
  });

  test("finds by looking what no notification tells of, where it keeps no connection to listen", async () => {
    await using stage = await Stage.open(() => create({ listen: false }));
    stage.start();
    const other = await reopen({ listen: false });
    const event = sample("payment");
    await other.add(event);
    await other.close();

    expect(await stage.delivery.deliverNext()).toBe(event.id);
    await expect.poll(listeningSessions).toEqual([]);
  });

  test("makes do with a pool of one connection", async () => {
    await using stage = await Stage.open(() => create({ pool: database.pool({ max: 1 }) }));
    stage.start();
    const event = sample("payment");
    await stage.add(event);

    expect(await stage.delivery.deliverNext()).toBe(event.id);
  });

  test("forgets what was delivered long ago, clicks after a day, and nothing else", async () => {
    await using stage = await Stage.open(() => create());
    stage.start();
    const [old, recent, oldClick, recentClick, dead] = [
      sample("payment"),
      sample("payment"),
      sample("click"),
      sample("click"),
      sample("payment"),
    ];
    for (const event of [old, recent, oldClick, recentClick]) {
      await stage.add(event);
      await stage.delivery.deliverNext();
    }
    await stage.giveUp([dead]);
    await stage.empty();
    const age = (days: number, ids: readonly string[]) =>
      sql(
        `update $schema.known_ids set reported_at = reported_at - $1 * interval '1 day',
           delivered_at = delivered_at - $1 * interval '1 day' where id = any ($2)`,
        [days, ids],
      );
    await age(31, [old.id, dead.id]);
    await age(2, [recent.id, oldClick.id]);

    const { forgetOld } = await import("../../../src/outbox/postgres/upkeep.js");
    await forgetOld({ query: sql, queryOnce: sql, ready: async () => {} }, database.schema, 30 * 86_400_000);

    for (const event of [recent, recentClick, dead]) expect(await stage.outbox.add(event)).toBe("duplicate");
    for (const event of [old, oldClick]) expect(await stage.outbox.add(event)).toBe("queued");
  });
});
