import { postgresOutbox } from "express-affiliate/postgres";
import { describe, expect, test } from "vitest";
import { sample, sampleOf } from "../../contract/samples.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { reportIn } from "../../helpers/sql-database.js";
import { trackerWithService } from "../../helpers/tracker.js";
import { expectRejected, expectUnharmed, inShape, shapes, testTransactions } from "../queue/transactions.js";

describeWithPostgres("postgresOutbox in the host's own transaction", (database) => {
  const { create, reopen, sql, begin } = database;
  /** The connections that wait for a lock. */
  const waiting = () =>
    sql("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");

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

    test("what is erased while another process gives it its place is in no queue then", async () => {
      const outbox = await create();
      await reportIn(await begin(), outbox, sampleOf("bob@shop.example", "payment"));
      const placer = await begin();
      const { schema } = database;
      await placer.run(`update ${schema}.events set state = 1, visitor = 'v'`);

      const erased = outbox.erase({ email: "bob@shop.example" });
      await expect.poll(waiting).toHaveLength(1);
      await placer.run(
        `insert into ${schema}.queues (visitor, destination, head, place, urgency, endpoint, tried, turn, due_at)
       select visitor, destination, seq, 0, 3, 3, 0, 3, 1 from ${schema}.events`,
      );
      await placer.end("commit");

      expect(await erased).toBe(1);
      expect(await sql("select from $t.queues")).toEqual([]);
    });

    test.each(Object.entries(failures))("%s", async (_, { cause, says }) => {
      await (await create()).close();
      const tracked = await trackerWithService({ outbox: await reopen({ migrate: false }) });
      for (const statement of cause) await sql(statement);
      const host = await begin();
      const role = cause[0]?.match(/create role (\w+)/)?.[1];
      if (role) await host.run(`set local role ${role}`);

      await expectRejected(tracked, host, says);
    });
  });

  test.each(Object.entries(shapes))(
    "if the server's errors come %s, the first report of all makes the tables",
    async (_, shape) => {
      await sql("drop schema if exists first_report cascade");
      const outbox = postgresOutbox({ pool: database.pool(), schema: "first_report" });
      const host = await begin();
      const transaction = inShape(host, shape);

      expect(await outbox.add(sample("payment"), { transaction })).toBe("queued");
      await host.end("commit");
      expect((await outbox.look()).queued).toBe(1);
      await outbox.close();
    },
  );

  const elsewhere = (error: Error) => Object.assign(error, { message: "wegen einer Aktualisierung" });

  describe.each(["repeatable read", "serializable"])("under %s", (level) => {
    test.each(Object.entries({ ...shapes, "in another language": elsewhere }))(
      "an event that its snapshot does not show is a duplicate too, if the server's errors come %s",
      async (_, shape) => {
        const outbox = await create();
        const event = sample("payment");
        const [one, two, three] = [await begin(level), await begin(level), await begin(level)];
        for (const { run } of [one, two, three]) await run("select 1");

        expect(await outbox.add(event, one)).toBe("queued");
        // It waits for the end of the first.
        const concurrent = outbox.add(event, { transaction: inShape(two, shape) });
        await expect.poll(waiting).toHaveLength(1);
        await one.end("commit");
        expect(await concurrent).toBe("duplicate");
        expect(await outbox.add(event, { transaction: inShape(three, shape) })).toBe("duplicate");

        for (const host of [two, three]) {
          await expectUnharmed(host);
          await host.end("rollback");
        }
        expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 1 }]);
      },
    );
  });

  describe("under serializable, a payment is no duplicate because another transaction", () => {
    const payments = [sample("payment"), sample("payment"), sample("payment")] as const;

    const stored = async () =>
      (await sql("select id from $schema.events order by seq")).map(({ id }) =>
        payments.findIndex((p) => p.id === id),
      );

    test("has reported one meanwhile: neither has read anything", async () => {
      const outbox = await create();
      const [one, two] = [await begin("serializable"), await begin("serializable")];

      expect(await outbox.add(payments[0], two)).toBe("queued");
      expect(await outbox.add(payments[1], one)).toBe("queued");
      await one.end("commit");
      expect(await outbox.add(payments[2], two)).toBe("queued");
      await two.end("commit");

      expect(await stored()).toEqual([0, 1, 2]);
    });

    test.each(Object.entries(shapes))(
      "has changed what this one has read: it is rejected, if the server's errors come %s",
      async (_, shape) => {
        const outbox = await create();
        const [one, two] = [await begin("serializable"), await begin("serializable")];
        for (const { run } of [one, two]) await run(`select count(*) from ${database.schema}.events`);
        expect(await outbox.add(payments[0], one)).toBe("queued");
        await one.end("commit");

        await expect(outbox.add(payments[1], { transaction: inShape(two, shape) })).rejects.toThrow(
          "nothing was stored, and the transaction goes on: could not serialize access due to read/write dependencies",
        );

        await two.end("commit");
        expect(await stored()).toEqual([0]);
      },
    );
  });

  test("has failed before: the report is rejected, and is not said to be part of it", async () => {
    const outbox = await create();
    const { transaction, run, end } = await begin();
    await expect(run("select 1 / 0")).rejects.toThrow();

    await expect(outbox.add(sample("click"), { transaction })).rejects.toThrow(
      "nothing was stored: current transaction is aborted",
    );
    await end("rollback");
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
    const { transaction, run, end } = await begin();
    await run("set local search_path = evil, pg_catalog");
    const event = sample("click");

    expect(await outbox.add(event, { transaction })).toBe("queued");
    expect(await outbox.add(event, { transaction })).toBe("duplicate");
    expect(await outbox.add(sample("payment", event.data), { transaction })).toBe("queued");

    await end("commit");
  });
});
