import type pg from "pg";
import { describe, expect, test } from "vitest";
import { sample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import { startService } from "../../helpers/service.js";
import { linesLogger, startTracker } from "../../helpers/tracker.js";

describeWithPostgres("in the host's own transaction", (database) => {
  const { create, reopen, sql } = database;

  async function begin(pool: pg.Pool): Promise<pg.PoolClient> {
    const client = await pool.connect();
    await client.query("begin");
    return client;
  }

  async function end(client: pg.PoolClient, how: "commit" | "rollback"): Promise<void> {
    await client.query(how);
    client.release();
  }

  test("a payment is reported if and only if its order commits", async () => {
    const service = await startService();
    const tracker = startTracker({ baseUrl: service.url, outbox: await create() });
    const pool = database.pool();
    await sql("create table orders (id integer)");

    for (const [order, how] of [
      [1, "rollback"],
      [2, "commit"],
    ] as const) {
      const client = await begin(pool);
      await client.query("insert into orders values ($1)", [order]);
      const payment = { paymentId: order, customerEmail: "ann@shop.example", leadValue: order };
      const receipt = await tracker.trackPayment(payment, { clickId: "c" }, { transaction: client });
      expect(receipt).toMatchObject({ outcome: "queued" });
      expect(service.posted).toEqual([]);
      await end(client, how);
    }

    await expect.poll(() => service.posted.length).toBe(1);
    expect(service.posted[0]?.body).toMatchObject({ leadValue: 2 });
    expect(await sql("select id from orders")).toEqual([{ id: 2 }]);
  });

  test("the rolled back can be reported again, the committed is a duplicate", async () => {
    await using stage = await Stage.open(() => create());
    const event = sample("payment");
    const pool = database.pool();
    const add = async (how: "commit" | "rollback") => {
      const client = await begin(pool);
      const outcome = await stage.outbox.add(event, { transaction: client });
      await end(client, how);
      return outcome;
    };

    expect(await add("rollback")).toBe("queued");
    expect(await add("commit")).toBe("queued");
    expect(await add("commit")).toBe("duplicate");
    expect(await stage.outbox.add(event)).toBe("duplicate");
  });

  test("two transactions about one visitor keep the order of their commits, and hold up no other visitor", async () => {
    await using stage = await Stage.open(() => create({ pool: database.pool() }));
    const pool = database.pool();
    const visitor = stranger();
    const [first, second, third, other] = [
      sample("click", visitor),
      sample("registration", { clickId: visitor.clickId as string }),
      sample("payment", { sessionId: visitor.sessionId as string }),
      sample("payment"),
    ];
    const [one, two] = [await begin(pool), await begin(pool)];
    stage.start();

    await stage.outbox.add(first, { transaction: one });
    const added = [stage.outbox.add(second, { transaction: two }), stage.outbox.add(third)];
    await stage.add(other);
    expect(await stage.delivery.deliverNext()).toBe(other.id);
    await end(one, "commit");
    expect(await added[0]).toBe("queued");
    await end(two, "commit");
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
    const client = await begin(database.pool());
    stage.start();

    await stage.outbox.add(events[0] as never, { transaction: client });
    const later = [stage.outbox.add(events[1] as never), stage.outbox.add(events[2] as never)];
    await stage.add(sample("click"));
    await stage.delivery.deliverNext();
    await end(client, "commit");

    expect(await Promise.all(later)).toEqual(["queued", "queued"]);
    for (const { id } of events) expect(await stage.delivery.deliverNext()).toBe(id);
  });

  test("two transactions that report two visitors in opposite order both commit", async () => {
    await using stage = await Stage.open(() => create());
    const pool = database.pool();
    const [ann, bob] = [stranger(), stranger()];
    const [one, two] = [await begin(pool), await begin(pool)];

    await stage.outbox.add(sample("click", ann), { transaction: one });
    await stage.outbox.add(sample("click", bob), { transaction: two });
    const crossed = await Promise.all([
      stage.outbox.add(sample("payment", bob), { transaction: one }).finally(() => end(one, "commit")),
      stage.outbox.add(sample("payment", ann), { transaction: two }).finally(() => end(two, "commit")),
    ]);

    expect(crossed).toEqual(["queued", "queued"]);
    expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: 4 }]);
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
      const client = await begin(database.pool());
      const role = cause[0]?.match(/create role (\w+)/)?.[1];
      if (role) await client.query(`set local role ${role}`);

      const payment = { paymentId: name, customerEmail: "ann@shop.example", leadValue: 9 };
      const receipt = await tracker.trackPayment(payment, { clickId: "c" }, { transaction: client });

      expect(receipt).toEqual({ outcome: "rejected", reason: "outbox" });
      expect(logger.lines.join("\n")).toMatch(says);
      expect((await client.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
      await end(client, "commit");
    });

    test("a statement's time limit", async () => {
      const outbox = await create();
      const pool = database.pool();
      const visitor = stranger();
      const [one, two] = [await begin(pool), await begin(pool)];
      await outbox.add(sample("click", visitor), { transaction: one });
      await two.query("set local statement_timeout = 100");

      await expect(outbox.add(sample("payment", visitor), { transaction: two })).rejects.toThrow(
        /nothing was stored, and the transaction goes on: canceling statement/,
      );
      expect((await two.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
      await end(two, "commit");
      await end(one, "commit");
      await outbox.close();
    });

    test("a bound reached", async () => {
      const outbox = await create({ maxEvents: 1 });
      await outbox.add(sample("payment"));
      const client = await begin(database.pool());

      expect(await outbox.add(sample("click"), { transaction: client })).toBe("full");
      expect((await client.query("select 42 as answer")).rows).toEqual([{ answer: 42 }]);
      await end(client, "commit");
      await outbox.close();
    });
  });

  test("refuses what is no transaction", async () => {
    const outbox = await create();
    await expect(outbox.add(sample("click"), { transaction: {} })).rejects.toMatchObject({
      code: "ERR_AFFILIATE_TRANSACTION",
    });
    await outbox.close();
  });
});
