import { expect, test } from "vitest";
import { sample, stranger } from "../../../src/testing/contract/samples.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

/** Transactions of hosts that are not as PostgreSQL begins them by default. */
describeWithPostgres("a host's transaction", (database) => {
  const { create, sql } = database;

  async function begin(how = "begin") {
    const client = await database.pool().connect();
    await client.query(how);
    await client.query("select 1");
    return {
      client,
      async end(with_: "commit" | "rollback" = "commit") {
        await client.query(with_);
        client.release();
      },
    };
  }

  test.each(["repeatable read", "serializable"])(
    "in %s hears that an event is a duplicate which its snapshot does not show",
    async (level) => {
      const outbox = await create();
      const event = sample("payment");
      const [one, two, three] = [
        await begin(`begin isolation level ${level}`),
        await begin(`begin isolation level ${level}`),
        await begin(`begin isolation level ${level}`),
      ];

      expect(await outbox.add(event, { transaction: one.client })).toBe("queued");
      // It waits for the end of the first.
      const concurrent = outbox.add(event, { transaction: two.client });
      await expect
        .poll(() =>
          sql(
            "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
          ),
        )
        .toHaveLength(1);
      await one.end();
      expect(await concurrent).toBe("duplicate");
      expect(await outbox.add(event, { transaction: three.client })).toBe("duplicate");

      for (const { client } of [two, three]) {
        expect((await client.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
      }
      await two.end("rollback");
      await three.end("rollback");
      expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 1 }]);
      await outbox.close();
    },
  );

  test("waits for another one about the same visitor no longer than its `lock_timeout`", async () => {
    const outbox = await create();
    const visitor = stranger();
    const [one, two] = [await begin(), await begin()];
    await outbox.add(sample("click", visitor), { transaction: one.client });
    await two.client.query("set local lock_timeout = '100ms'");

    await expect(outbox.add(sample("payment", visitor), { transaction: two.client })).rejects.toThrow(
      /nothing was stored, and the transaction goes on: canceling statement due to lock timeout/,
    );

    expect((await two.client.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
    await one.end();
    await two.end();
    await outbox.close();
  });

  test("may have any `search_path`: what it finds there is not what the outbox's functions call", async () => {
    const outbox = await create();
    await sql(`
      create schema evil;
      create function evil.now() returns timestamptz language plpgsql
      as 'begin raise exception ''evil.now() was called''; end';
      create function evil.hashtextextended(text, bigint) returns bigint language plpgsql
      as 'begin raise exception ''evil.hashtextextended() was called''; end';
      create function evil.same(bigint, bigint) returns boolean language sql as 'select false';
      create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.same);`);
    const { client, end } = await begin();
    await client.query("set local search_path = evil, pg_catalog");
    const event = sample("click");

    expect(await outbox.add(event, { transaction: client })).toBe("queued");
    expect(await outbox.add(event, { transaction: client })).toBe("duplicate");
    expect(await outbox.add(sample("payment", event.data), { transaction: client })).toBe("queued");

    await end();
    await outbox.close();
  });
});
