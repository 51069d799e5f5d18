import type { OutboxEvent } from "express-affiliate";
import { describe, expect, test } from "vitest";
import { clicksOf } from "../../contract/clicks.js";
import { LONG_MS, lane, sample, scheduledSample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import type { HostTransaction, SqlDatabase } from "../../helpers/sql-database.js";
import { trackerWithService } from "../../helpers/tracker-with-service.js";

export async function expectUnharmed({ run }: HostTransaction): Promise<void> {
  expect(await run("select 42 as answer")).toEqual([{ answer: 42 }]);
}

/** The tracker does not report a payment in a transaction, says why, and leaves it unharmed. */
export async function expectRejected(
  { tracker, lines }: Pick<Awaited<ReturnType<typeof trackerWithService>>, "tracker" | "lines">,
  host: HostTransaction,
  says: RegExp,
): Promise<void> {
  const payment = { paymentId: 1, customerEmail: "ann@shop.example", leadValue: 9 };
  const { transaction } = host;
  const receipt = await tracker.trackPayment(payment, { clickId: "c" }, { transaction });

  expect(receipt).toEqual({ outcome: "rejected", reason: "outbox" });
  expect(lines.join("\n")).toMatch(says);
  await expectUnharmed(host);
  await host.end("commit");
}

/** Reports in the host's own transaction, in either database. */
export function testTransactions(
  { create, sql, begin }: SqlDatabase,
  {
    isolations,
    limits,
    poolOfOne,
  }: {
    isolations: readonly string[];
    /** Statements that end a wait soon, and what the server says then. */
    limits: Readonly<Record<string, string>>;
    /** A pool of one connection. */
    poolOfOne: () => unknown;
  },
): void {
  test("a payment is reported if and only if its order commits", async () => {
    const { tracker, posted } = await trackerWithService({ outbox: await create() });
    await sql("create table orders (id integer)");

    for (const [order, how] of [
      [1, "rollback"],
      [2, "commit"],
    ] as const) {
      const { transaction, run, end } = await begin();
      await run(`insert into orders values (${order})`);
      const payment = { paymentId: order, customerEmail: "ann@shop.example", leadValue: order };
      const receipt = await tracker.trackPayment(payment, { clickId: "c" }, { transaction });
      expect(receipt).toMatchObject({ outcome: "queued" });
      expect(posted).toEqual([]);
      await end(how);
    }

    await expect.poll(() => posted.length).toBe(1);
    expect(posted[0]?.body).toMatchObject({ leadValue: 2 });
    expect(await sql("select id from orders")).toEqual([{ id: 2 }]);
  });

  test.each(isolations)(
    "under %s, the rolled back can be reported again, and the committed is a duplicate",
    async (isolation) => {
      await using stage = await Stage.open(() => create());
      const event = sample("payment");
      const add = async (how: "commit" | "rollback") => {
        const { transaction, end } = await begin(isolation);
        const outcome = await stage.outbox.add(event, { transaction });
        await end(how);
        return outcome;
      };

      expect(await add("rollback")).toBe("queued");
      expect(await add("commit")).toBe("queued");
      expect(await add("commit")).toBe("duplicate");
      expect(await stage.outbox.add(event)).toBe("duplicate");
    },
  );

  test("what is reported after a commit goes after it, even if no process has looked meanwhile", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    const [first, second] = [sample("registration", visitor), sample("payment", visitor)];
    const host = await begin();
    await stage.outbox.add(first, host);
    await host.end("commit");
    await stage.add(second);

    stage.start();
    await stage.delivers(first, second);
  });

  test("two transactions about one visitor wait for nothing, hold up nobody, and go in the order in which they commit", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    const [first, second] = [sample("click", visitor), sample("registration", visitor)];
    const [one, two] = [await begin(), await begin()];
    stage.start();
    expect(await stage.outbox.add(first, one)).toBe("queued");
    expect(await stage.outbox.add(second, two)).toBe("queued");
    const others = Array.from({ length: 20 }, () => sample("payment"));
    await stage.add(...others);
    await stage.delivers(...others);

    await two.end("commit");
    const underWay = await stage.delivery.next();
    expect(underWay.id).toBe(second.id);
    await one.end("commit");

    // Of another visitor: what is sent after it shows that the click is held back, and not late.
    const other = sample("payment");
    await stage.add(other);
    await stage.delivers(other);
    underWay.settle({ type: "delivered" });
    await stage.delivers(first);
  });

  test("a click in the host's own transaction makes the visitor's oldest give way", async () => {
    await using stage = await Stage.open(() => create());
    stage.hold();
    const [last, ...clicks] = clicksOf(101) as [OutboxEvent, ...OutboxEvent[]];
    await Promise.all(clicks.map((click) => stage.add(click)));
    const host = await begin();
    expect(await stage.outbox.add(last, host)).toBe("queued");
    await host.end("commit");
    // A claim finds it.
    stage.delivery.lanes = [lane("lead/payment")];
    stage.release();

    const dropped = () => stage.delivery.dropped.map(({ event }) => event.id);
    await expect.poll(dropped).toEqual([clicks[0]?.id]);
    await stage.holds(100);
  });

  test("scheduled payments are part of it, and are cancelled only once it has committed", async () => {
    await using stage = await Stage.open(() => create());
    const [committed, rolledBack] = [scheduledSample(LONG_MS), scheduledSample(LONG_MS)];
    for (const [payment, how] of [
      [rolledBack, "rollback"],
      [committed, "commit"],
    ] as const) {
      const host = await begin();
      expect(await stage.outbox.add(payment, host)).toBe("queued");
      expect(await stage.outbox.cancel?.(payment.id)).toBe("unknown");
      await host.end(how);
    }
    stage.hold();
    expect(await stage.outbox.cancel?.(rolledBack.id)).toBe("unknown");
    expect(await stage.outbox.cancel?.(committed.id)).toBe("cancelled");
    expect(await stage.outbox.add(committed)).toBe("duplicate");
  });

  test("two transactions that report two visitors in opposite order both commit", async () => {
    await using stage = await Stage.open(() => create());
    const [ann, bob] = [stranger(), stranger()];
    const [one, two] = [await begin(), await begin()];

    await stage.outbox.add(sample("click", ann), one);
    await stage.outbox.add(sample("click", bob), two);
    const crossed = await Promise.all([
      stage.outbox.add(sample("payment", bob), one).finally(() => one.end("commit")),
      stage.outbox.add(sample("payment", ann), two).finally(() => two.end("commit")),
    ]);

    expect(crossed).toEqual(["queued", "queued"]);
    expect(await sql("select kind from $t.events")).toHaveLength(4);
  });

  describe("a report that fails leaves the order's transaction unharmed", () => {
    test.each(Object.entries(limits))("a wait that takes too long after: %s", async (limit, says) => {
      const outbox = await create();
      const event = sample("payment");
      const [one, two] = [await begin(), await begin()];
      await outbox.add(event, one);
      await two.run(limit);

      await expect(outbox.add(event, two)).rejects.toThrow(
        `nothing was stored, and the transaction goes on: ${says}`,
      );

      await expectUnharmed(two);
      await two.end("commit");
      await one.end("commit");
    });

    test("a bound reached", async () => {
      const outbox = await create({ maxEvents: 1 });
      await outbox.add(sample("payment"));
      const host = await begin();

      expect(await outbox.add(sample("click"), host)).toBe("full");
      await expectUnharmed(host);
      await host.end("commit");
    });
  });

  test("with one connection in the pool, which the host's transaction has", async () => {
    const pool = poolOfOne();
    await using stage = await Stage.open(() => create({ pool }));
    (await stage.handOver(sample("click"))).settle({ type: "delivered" });
    const host = await begin(undefined, pool);
    const event = sample("payment");

    expect(await stage.outbox.add(event, host)).toBe("queued");
    await host.end("commit");

    await stage.delivers(event);
  });

  test("refuses what is no transaction", async () => {
    const outbox = await create();
    await expect(outbox.add(sample("click"), { transaction: {} })).rejects.toMatchObject({
      code: "ERR_AFFILIATE_TRANSACTION",
    });
  });
}
