import { expect, test } from "vitest";
import { sample, scheduledSample, stranger } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

const HOUR_MS = 3_600_000;

describeWithPostgres("scheduled payments", (database) => {
  const { create, sql } = database;

  test("are part of the host's own transaction, and cancelled only once that has committed", async () => {
    await using stage = await Stage.open(() => create());
    const pool = database.pool();
    const [committed, rolledBack] = [scheduledSample(HOUR_MS), scheduledSample(HOUR_MS)];
    for (const [payment, how] of [
      [rolledBack, "rollback"],
      [committed, "commit"],
    ] as const) {
      const client = await pool.connect();
      await client.query("begin");
      expect(await stage.outbox.add(payment, { transaction: client })).toBe("queued");
      expect(await stage.outbox.cancel?.(payment.id)).toBe("unknown");
      await client.query(how);
      client.release();
    }
    stage.start();
    expect(await stage.outbox.cancel?.(rolledBack.id)).toBe("unknown");
    expect(await stage.outbox.cancel?.(committed.id)).toBe("cancelled");
  });

  test("wait for the end of a host's transaction that has reported their visitor, and hold up no other", async () => {
    await using stage = await Stage.open(() => create());
    const pool = database.pool();
    const visitor = stranger();
    const [own, other] = [scheduledSample(HOUR_MS, visitor), scheduledSample(HOUR_MS)];
    stage.start();
    await stage.add(own, other);
    const client = await pool.connect();
    await client.query("begin");
    await stage.outbox.add(sample("payment", visitor), { transaction: client });
    await sql("update $schema.scheduled set not_before = now()");
    expect(await stage.delivery.deliverNext()).toBe(other.id);
    expect(await sql("select count(*)::integer as number from $schema.scheduled")).toEqual([{ number: 1 }]);
    await client.query("rollback");
    client.release();
    expect(await stage.delivery.deliverNext()).toBe(own.id);
  });

  test("hold, after a restore, holds those that are due alone", async () => {
    await using stage = await Stage.open(() => create());
    const outbox = stage.outbox as Awaited<ReturnType<typeof create>>;
    const due = scheduledSample(HOUR_MS);
    await stage.add(due, scheduledSample(2 * HOUR_MS));
    await sql(`update $schema.scheduled set not_before = now() where id = '${due.id}'`);
    expect(await outbox.hold()).toBe(1);
    expect(await outbox.look()).toMatchObject({
      queued: 1,
      scheduled: { count: 1 },
      dead: { unconfirmed: 1 },
    });
  });
});
