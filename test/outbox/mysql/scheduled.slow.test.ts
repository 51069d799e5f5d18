import type mysql from "mysql2/promise";
import { expect, test } from "vitest";
import type { OutboxEvent } from "../../../src/events.js";
import { binary, due, NOW } from "../../../src/outbox/mysql/literals.js";
import { sample, scheduledSample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";

const HOUR_MS = 3_600_000;

describeWithMariaDb("scheduled payments", (database) => {
  const { create, sql } = database;

  async function begin(): Promise<mysql.PoolConnection> {
    const connection = await database.pool().getConnection();
    await connection.beginTransaction();
    return connection;
  }

  async function end(connection: mysql.PoolConnection, how: "commit" | "rollback"): Promise<void> {
    await connection[how]();
    connection.release();
  }

  const makeDue = (...events: readonly OutboxEvent[]) =>
    sql(
      `update $prefixevents set ${due(NOW)}
       where state = 'scheduled' and id in (${events.map(({ id }) => binary(id)).join()})`,
    );
  const scheduledIds = async () =>
    (await sql("select lower(hex(id)) as id from $prefixevents where state = 'scheduled'")).map(
      ({ id }) => id,
    );

  test("are part of the host's own transaction, and cancelled only once that has committed", async () => {
    await using stage = await Stage.open(() => create());
    const [committed, rolledBack] = [scheduledSample(HOUR_MS), scheduledSample(HOUR_MS)];
    for (const [payment, how] of [
      [rolledBack, "rollback"],
      [committed, "commit"],
    ] as const) {
      const connection = await begin();
      expect(await stage.outbox.add(payment, { transaction: connection })).toBe("queued");
      expect(await stage.outbox.cancel?.(payment.id)).toBe("unknown");
      await end(connection, how);
    }
    stage.start();
    expect(await stage.outbox.cancel?.(rolledBack.id)).toBe("unknown");
    expect(await stage.outbox.cancel?.(committed.id)).toBe("cancelled");
    expect(await stage.outbox.add(committed)).toBe("duplicate");
  });

  test("are cancelled beside a host's open transaction that has reported them again, or their visitor", async () => {
    await using stage = await Stage.open(() => create());
    stage.start();
    const visitor = stranger();
    const payment = scheduledSample(HOUR_MS, visitor);
    await stage.add(payment);
    const connection = await begin();
    expect(await stage.outbox.add(payment, { transaction: connection })).toBe("duplicate");
    expect(await stage.outbox.add(sample("payment", visitor), { transaction: connection })).toBe("queued");
    // Nothing here waits for the transaction: it is ended after this.
    expect(await stage.outbox.cancel?.(payment.id)).toBe("cancelled");
    await end(connection, "rollback");
    await makeDue(payment);
    expect(await scheduledIds()).toEqual([]);
    const other = sample("payment");
    await stage.add(other);
    expect(await stage.delivery.deliverNext()).toBe(other.id);
  });

  test("go to their queue when they are due, and a host's open transaction holds up the one beside its own alone", async () => {
    await using stage = await Stage.open(() => create());
    const visitor = stranger();
    // In an index of ids, a payment before one that is open waits for it: MariaDB takes the lock of the next row, too.
    const withId = (event: OutboxEvent, digit: string) => ({ ...event, id: digit.padEnd(32, "0") });
    const first = withId(scheduledSample(HOUR_MS), "1");
    const beside = withId(scheduledSample(HOUR_MS), "3");
    const open = withId(sample("payment", visitor), "4");
    const own = withId(scheduledSample(HOUR_MS, visitor), "5");
    stage.start();
    await stage.add(beside, own, first);
    const connection = await begin();
    await stage.outbox.add(open, { transaction: connection });
    await makeDue(beside, own, first);
    const sent = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    expect(sent.sort()).toEqual([first.id, own.id]);
    expect(await scheduledIds()).toEqual([beside.id]);
    await end(connection, "commit");
    const later = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    expect(later.sort()).toEqual([beside.id, open.id]);
  });

  test("hold, after a restore, holds those that are due alone", async () => {
    await using stage = await Stage.open(() => create());
    const outbox = stage.outbox as Awaited<ReturnType<typeof create>>;
    const payment = scheduledSample(HOUR_MS);
    await stage.add(payment, scheduledSample(2 * HOUR_MS));
    await makeDue(payment);
    expect(await outbox.hold()).toBe(1);
    expect(await outbox.look()).toMatchObject({
      queued: 1,
      scheduled: { count: 1 },
      dead: { unconfirmed: 1 },
    });
  });
});
