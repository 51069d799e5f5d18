import type { OutboxEvent } from "express-affiliate";
import type { PostgresTransaction } from "express-affiliate/postgres";
import { describe, expect, test } from "vitest";
import { clicksOf } from "../../contract/clicks.js";
import { LONG_MS, lane, paying, sample, scheduledSample, stranger } from "../../contract/samples.js";
import { onStage, REJECTED, Stage } from "../../contract/stage.js";
import { type HostTransaction, reportIn, type SqlDatabase } from "../../helpers/sql-database.js";
import { trackerWithService } from "../../helpers/tracker.js";

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

type Shape = (error: Error, statement: string) => Error;

/** What libraries make of an error of the server, and of the statement with its values. */
export const shapes: Readonly<Record<string, Shape>> = {
  "as they are": (error) => error,
  "as a cause, as Drizzle has them": (cause, statement) => new Error(`Failed query: ${statement}`, { cause }),
  "as a parent, as Sequelize has them": (parent) => Object.assign(new Error("Validation error"), { parent }),
  "after the statement, as Knex has them": (error, statement) =>
    Object.assign(error, { message: `${statement} - ${error.message}` }),
  "in a text beside a code of the library's own, as Prisma has them": (error) => {
    const { code, errno = code, message } = error as Error & { code?: string; errno?: number };
    return Object.assign(new Error(`\nRaw query failed. Code: \`${errno}\`. Message: \`${message}\``), {
      code: "P2010",
    });
  },
};

/** The transaction as a library shows it. */
export function inShape({ transaction }: Pick<HostTransaction, "transaction">, shape: Shape) {
  const host = transaction as PostgresTransaction;
  return {
    query: (text: string, values: unknown[] = []) =>
      host.query(text, values).catch((error) => {
        throw shape(error, `${text}\nparams: ${values}`);
      }),
  };
}

/** Reports in the host's own transaction, in either database. */
export function testTransactions(
  { create, sql, begin, eventsTable }: SqlDatabase,
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
  const testOnStage = onStage(create);

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

  /** Has an event be another process's, as one that is giving it its place. */
  async function lock({ id }: OutboxEvent, { run }: HostTransaction): Promise<void> {
    const [{ seq }] = await sql(`select seq from $t.events where id = '${id}'`);
    // By its number: otherwise MySQL may make the inserts of other events wait.
    await run(`select seq from ${eventsTable()} where seq = ${seq} for update`);
  }

  testOnStage(
    "what another process is giving its place goes before its visitor's later events, and holds up no others",
    async (stage) => {
      const visitor = stranger();
      const other = sample("payment");
      const [first, second] = [sample("registration", visitor), sample("payment", visitor)];
      await reportIn(await begin(), stage.outbox, first, second, other);
      const placer = await begin();
      await lock(first, placer);

      stage.start();
      await stage.delivers(other);
      await placer.end("rollback");
      await stage.delivers(first, second);
    },
  );

  testOnStage(
    "what is reported after a commit goes after it, even while another process gives it its place",
    async (stage) => {
      const visitor = stranger();
      const [first, second] = [sample("registration", visitor), sample("payment", visitor)];
      await reportIn(await begin(), stage.outbox, first);
      const placer = await begin();
      await lock(first, placer);

      const reported = stage.outbox.add(second);
      stage.start();
      await stage.deliversStranger();
      await placer.end("rollback");
      await stage.delivers(first, second);
      expect(await reported).not.toBe("duplicate");
    },
  );

  testOnStage(
    "two transactions about one visitor wait for nothing, hold up nobody, and go in the order in which they commit",
    async (stage) => {
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

      await stage.deliversStranger();
      underWay.settle({ type: "delivered" });
      await stage.delivers(first);
    },
  );

  testOnStage(
    "two transactions about a visitor who has a later event go after it, in their order",
    async (stage) => {
      const [click, ...both] = paying();
      const [one, two] = [await begin(), await begin()];
      await stage.outbox.add(both[0], one);
      await stage.add(click);
      await stage.outbox.add(both[1], two);
      await one.end("commit");
      await two.end("commit");

      stage.start();
      await stage.delivers(click, ...both);
    },
  );

  /** Two payments whose ids are neighbours in an index of ids, of whatever others there are. */
  function neighbours(visitor = stranger()): readonly [OutboxEvent, OutboxEvent] {
    return [
      { ...sample("payment", visitor), id: "order-1" },
      { ...sample("payment"), id: "order-2" },
    ];
  }

  testOnStage(
    "an open transaction keeps no event whose id is next to its own from delivery, or from being queued again",
    async (stage) => {
      const [first, second] = neighbours();
      const [one, two] = [await begin(), await begin()];
      stage.start();
      await stage.outbox.add(second, one);
      await stage.outbox.add(first, two);
      await two.end("commit");

      (await stage.delivery.next()).settle({ type: "dead", ...REJECTED });
      await expect.poll(() => stage.outbox.deadLetters.retry(first.id)).toBe(true);
      await stage.delivers(first);
      await one.end("commit");
      await stage.delivers(second);
    },
  );

  testOnStage(
    "an open transaction holds up nobody, and keeps no such event from its place behind others of its visitor",
    async (stage) => {
      const visitor = stranger();
      const [first, second] = neighbours(visitor);
      const [open, host] = [await begin(), await begin()];
      await stage.outbox.add(second, open);
      await stage.outbox.add(first, host);
      const underWay = await stage.handOver(sample("registration", visitor));
      await host.end("commit");

      await stage.deliversStranger();
      await expect.poll(() => sql(`select id from $queued where id = '${first.id}'`)).toHaveLength(1);
      underWay.settle({ type: "delivered" });
      await stage.delivers(first);
      await open.end("commit");
      await stage.delivers(second);
    },
  );

  testOnStage("a click in the host's own transaction sheds the visitor's oldest", async (stage) => {
    stage.hold();
    const [last, ...clicks] = clicksOf(101) as [OutboxEvent, ...OutboxEvent[]];
    await Promise.all(clicks.map((click) => stage.add(click)));
    await reportIn(await begin(), stage.outbox, last);
    // A claim finds it.
    stage.delivery.lanes = [lane("lead/payment")];
    stage.release();

    const dropped = () => stage.delivery.dropped.map(({ event }) => event.id);
    await expect.poll(dropped).toEqual([clicks[0]?.id]);
    await stage.holds(100);
  });

  testOnStage(
    "a scheduled payment can be cancelled while another process gives it its place",
    async (stage) => {
      const payment = scheduledSample(LONG_MS);
      await reportIn(await begin(), stage.outbox, payment);
      const placer = await begin();
      await lock(payment, placer);

      const cancelled = stage.outbox.cancel(payment.id);
      stage.start();
      await stage.deliversStranger();
      await placer.end("rollback");
      expect(await cancelled).toBe("cancelled");
    },
  );

  testOnStage("scheduled payments, and no others, can be cancelled once it has committed", async (stage) => {
    const payable = sample("payment");
    await reportIn(await begin(), stage.outbox, payable);
    expect(await stage.outbox.cancel(payable.id)).toBe("sent");

    const [committed, rolledBack] = [scheduledSample(LONG_MS), scheduledSample(LONG_MS)];
    for (const [payment, how] of [
      [rolledBack, "rollback"],
      [committed, "commit"],
    ] as const) {
      const host = await begin();
      expect(await stage.outbox.add(payment, host)).toBe("queued");
      expect(await stage.outbox.cancel(payment.id)).toBe("unknown");
      await host.end(how);
    }
    stage.hold();
    expect(await stage.outbox.cancel(rolledBack.id)).toBe("unknown");
    expect(await stage.outbox.cancel(committed.id)).toBe("cancelled");
    expect(await stage.outbox.add(committed)).toBe("duplicate");
  });

  testOnStage("two transactions that report two visitors in opposite order both commit", async (stage) => {
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

    test.each(Object.entries(shapes))(
      "and says no more than the server's words, if its errors come %s",
      async (_, shape) => {
        const { tracker, lines } = await trackerWithService({ outbox: await create() });
        const told: string[] = [];
        tracker.on("dropped", ({ message }) => told.push(message));
        const ann = { customerId: "c-1", customerName: "Ann Lee 40001", email: "ann@shop.example" };
        const [one, two] = [await begin(), await begin()];
        const visitor = { sessionId: "s-1213" };
        await tracker.trackRegistration(ann, visitor, { transaction: one.transaction });
        const [limit = "", says = ""] = Object.entries(limits)[0] ?? [];
        await two.run(limit);

        const transaction = inShape(two, shape);
        const receipt = await tracker.trackRegistration(ann, visitor, { transaction });

        expect(receipt).toEqual({ outcome: "rejected", reason: "outbox" });
        expect(told).toEqual([expect.stringContaining(`the transaction goes on: ${says}`)]);
        expect(lines.join("\n")).toContain(says);
        for (const text of [...told, ...lines]) expect(text).not.toMatch(/Ann|insert|s-1213/);
        await expectUnharmed(two);
        await two.end("commit");
        await one.end("commit");
      },
    );

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

  test("with that one connection, even if it is full", async () => {
    const pool = poolOfOne();
    await using stage = await Stage.open(() => create({ pool, maxEvents: 1 }));
    stage.hold();
    await stage.add(sample("click"));
    const host = await begin(undefined, pool);
    expect(await stage.outbox.add(sample("payment"), host)).toBe("queued");
    await host.end("commit");
  });

  test("refuses what is no transaction, a pool included", async () => {
    const outbox = await create();
    for (const transaction of [{}, poolOfOne()]) {
      await expect(outbox.add(sample("click"), { transaction })).rejects.toMatchObject({
        code: "ERR_AFFILIATE_TRANSACTION",
        message: expect.not.stringContaining("goes on"),
      });
    }
    expect(await sql("select kind from $t.events")).toEqual([]);
  });
}
