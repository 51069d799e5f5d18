import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { scheduledSample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import type { SqlDatabase } from "../../helpers/sql-database.js";

const HOUR_MS = 3_600_000;

/** Scheduled payments in either database. */
export function testScheduledPayments(
  { create, begin }: SqlDatabase,
  makeDue: (event: OutboxEvent) => Promise<unknown>,
): void {
  test("are part of the host's own transaction, and cancelled only once that has committed", async () => {
    await using stage = await Stage.open(() => create());
    const [committed, rolledBack] = [scheduledSample(HOUR_MS), scheduledSample(HOUR_MS)];
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
}
