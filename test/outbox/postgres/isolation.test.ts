import { expect, test } from "vitest";
import { sample } from "../../../src/testing/contract/samples.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

/** Transactions of hosts that are not as PostgreSQL begins them by default. */
describeWithPostgres("a host's transaction", (database) => {
  const { create, sql, begin } = database;

  test.each(["repeatable read", "serializable"])(
    "in %s hears that an event is a duplicate which its snapshot does not show",
    async (level) => {
      const outbox = await create();
      const event = sample("payment");
      const [one, two, three] = [await begin(level), await begin(level), await begin(level)];
      for (const { run } of [one, two, three]) await run("select 1");

      expect(await outbox.add(event, one)).toBe("queued");
      // It waits for the end of the first.
      const concurrent = outbox.add(event, two);
      await expect
        .poll(() =>
          sql(
            "select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
          ),
        )
        .toHaveLength(1);
      await one.end("commit");
      expect(await concurrent).toBe("duplicate");
      expect(await outbox.add(event, three)).toBe("duplicate");

      for (const { run } of [two, three]) {
        expect(await run("select 42 as answer")).toEqual([{ answer: 42 }]);
      }
      await two.end("rollback");
      await three.end("rollback");
      expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 1 }]);
      await outbox.close();
    },
  );

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
    const { transaction, run, end } = await begin();
    await run("set local search_path = evil, pg_catalog");
    const event = sample("click");

    expect(await outbox.add(event, { transaction })).toBe("queued");
    expect(await outbox.add(event, { transaction })).toBe("duplicate");
    expect(await outbox.add(sample("payment", event.data), { transaction })).toBe("queued");

    await end("commit");
    await outbox.close();
  });
});
