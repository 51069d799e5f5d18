import { describe, expect, test } from "vitest";
import { sample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { startService } from "../../helpers/service.js";
import { linesLogger, startTracker } from "../../helpers/tracker.js";
import { testTransactions } from "../sql/transactions.js";

describeWithPostgres("in the host's own transaction", (database) => {
  const { create, reopen, sql, begin } = database;

  testTransactions(database, {
    isolations: ["read committed", "repeatable read", "serializable"],
    limits: {
      "set local lock_timeout = '100ms'": "canceling statement due to lock timeout",
      "set local statement_timeout = 100": "canceling statement due to statement timeout",
    },
  });

  test("two transactions about one visitor keep the order of their commits, and hold up no other visitor", async () => {
    await using stage = await Stage.open(() => create({ pool: database.pool() }));
    const visitor = stranger();
    const [first, second, third, other] = [
      sample("click", visitor),
      sample("registration", { clickId: visitor.clickId as string }),
      sample("payment", { sessionId: visitor.sessionId as string }),
      sample("payment"),
    ];
    const [one, two] = [await begin(), await begin()];
    stage.start();

    await stage.outbox.add(first, one);
    const added = [stage.outbox.add(second, two), stage.outbox.add(third)];
    await stage.add(other);
    expect(await stage.delivery.deliverNext()).toBe(other.id);
    await one.end("commit");
    expect(await added[0]).toBe("queued");
    await two.end("commit");
    expect(await added[1]).toBe("queued");

    const order = [await stage.delivery.next()];
    expect(order[0]?.id).toBe(first.id);
    order[0]?.settle({ type: "delivered" });
    const rest = [await stage.delivery.next(), await stage.delivery.next()].map(({ id }) => id);
    expect(rest.sort()).toEqual([second.id, third.id].sort());
  });

  test("what comes outside of a transaction waits for the one that is open about its visitor, in order", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    const events = [sample("click", visitor), sample("registration", visitor), sample("payment", visitor)];
    const host = await begin();
    stage.start();

    await stage.outbox.add(events[0] as never, host);
    const later = [stage.outbox.add(events[1] as never), stage.outbox.add(events[2] as never)];
    await stage.add(sample("click"));
    await stage.delivery.deliverNext();
    await host.end("commit");

    expect(await Promise.all(later)).toEqual(["queued", "queued"]);
    for (const { id } of events) expect(await stage.delivery.deliverNext()).toBe(id);
  });

  describe("a report that fails leaves the order's transaction unharmed", () => {
    const failures = {
      "no tables": {
        cause: ["drop schema $schema cascade"],
        // Which of them depends on whether the process has noticed before.
        says: /finds no outbox that it may use|are missing or of an earlier version/,
      },
      "a table gone": { cause: ["drop table $schema.events cascade"], says: /does not exist/ },
      "no right to the schema": {
        cause: ["create role other_role"],
        says: /finds no outbox that it may use/,
      },
      "no right to the tables": {
        cause: ["create role anybody", "grant usage on schema $schema to anybody"],
        says: /permission denied/,
      },
    };

    test.each(Object.entries(failures))("%s", async (name, { cause, says }) => {
      const service = await startService();
      const logger = linesLogger();
      await (await create()).close();
      const outbox = await reopen({ listen: false, migrate: false });
      const tracker = startTracker({ baseUrl: service.url, outbox, logger });
      for (const statement of cause) await sql(statement);
      const { transaction, run, end } = await begin();
      const role = cause[0]?.match(/create role (\w+)/)?.[1];
      if (role) await run(`set local role ${role}`);

      const payment = { paymentId: name, customerEmail: "ann@shop.example", leadValue: 9 };
      const receipt = await tracker.trackPayment(payment, { clickId: "c" }, { transaction });

      expect(receipt).toEqual({ outcome: "rejected", reason: "outbox" });
      expect(logger.lines.join("\n")).toMatch(says);
      expect(await run("select 42 as answer")).toEqual([{ answer: 42 }]);
      await end("commit");
    });
  });
});
