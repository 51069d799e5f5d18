import { describe, expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { trackerWithService } from "../../helpers/tracker-with-service.js";
import { expectRejected, expectUnharmed, testTransactions } from "../queue/transactions.js";

describeWithPostgres("postgresOutbox in the host's own transaction", (database) => {
  const { create, reopen, sql, begin } = database;

  testTransactions(database, {
    isolations: ["read committed", "repeatable read", "serializable"],
    poolOfOne: () => database.pool({ max: 1 }),
    limits: {
      "set local lock_timeout = '100ms'": "canceling statement due to lock timeout",
      "set local statement_timeout = 100": "canceling statement due to statement timeout",
    },
  });

  describe("a report that fails leaves the order's transaction unharmed", () => {
    const failures = {
      "no tables": {
        cause: ["drop schema $schema cascade"],
        // Which of them depends on whether the process has noticed before.
        says: /are (missing or of an earlier version|not as they were made)/,
      },
      "a table gone": { cause: ["drop table $schema.events cascade"], says: /not as they were made/ },
      "no right to the schema": { cause: ["create role other_role"], says: /permission denied for schema/ },
      "no right to the tables": {
        cause: ["create role anybody", "grant usage on schema $schema to anybody"],
        says: /permission denied for table/,
      },
    };

    test.each(Object.entries(failures))("%s", async (_, { cause, says }) => {
      await (await create()).close();
      const tracked = await trackerWithService({ outbox: await reopen({ listen: false, migrate: false }) });
      for (const statement of cause) await sql(statement);
      const host = await begin();
      const role = cause[0]?.match(/create role (\w+)/)?.[1];
      if (role) await host.run(`set local role ${role}`);

      await expectRejected(tracked, host, says);
    });
  });

  test.each(["repeatable read", "serializable"])(
    "under %s, an event that its snapshot does not show is a duplicate too",
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
          sql("select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"),
        )
        .toHaveLength(1);
      await one.end("commit");
      expect(await concurrent).toBe("duplicate");
      expect(await outbox.add(event, three)).toBe("duplicate");

      for (const host of [two, three]) {
        await expectUnharmed(host);
        await host.end("rollback");
      }
      expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 1 }]);
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
  });
});
