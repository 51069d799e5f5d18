import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../src/shared/clock.js";
import { sample } from "../../contract/samples.js";
import { retryIn, Stage } from "../../contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import type { SqlDatabase } from "../../helpers/sql-database.js";

const LEASE_MS = 60_000;

describeWithPostgres("leases in PostgreSQL", testLeases);
describeWithMariaDb("leases in MariaDB", testLeases);

function testLeases(database: SqlDatabase): void {
  const { create, sql } = database;

  test.each(["wall", "steady"] as const)(
    "a process that stood still doubts its claims: by the %s clock the lease may be over",
    async (which) => {
      const shown = { wall: 0, steady: 0 };
      const clock = { ...systemClock, now: () => shown.wall, monotonic: () => shown.steady };
      await using stage = await Stage.open(() => create({ leaseMs: LEASE_MS }, clock));
      const { live } = await stage.handOver(sample("payment"));

      shown[which] = 0.9 * LEASE_MS - 1;
      expect(live.isLeased?.()).toBe(true);
      shown[which]++;
      expect(live.isLeased?.()).toBe(false);
    },
  );

  /** A clock that a test sets, and the renewals that are planned. */
  function stoppedClock() {
    const renewals: (() => void)[] = [];
    const shown = { ms: 0 };
    const clock: Clock = {
      now: () => shown.ms,
      monotonic: () => shown.ms,
      after(ms, task) {
        if (ms !== LEASE_MS / 3) return systemClock.after(ms, task);
        renewals.push(task);
        return () => {};
      },
    };
    return {
      shown,
      clock,
      /** Begins a renewal. Resolves once it has ended: then the next one is planned. */
      async renew(meanwhile = () => {}): Promise<void> {
        renewals.shift()?.();
        meanwhile();
        await expect.poll(() => renewals.length).toBe(1);
      },
    };
  }

  test("a renewed lease counts from when that was asked for, however late the server answers", async () => {
    const { shown, clock, renew } = stoppedClock();
    await using stage = await Stage.open(() => create({ leaseMs: LEASE_MS }, clock));
    const { live } = await stage.handOver(sample("payment"));

    const askedAt = LEASE_MS / 3;
    shown.ms = askedAt;
    await renew(() => {
      shown.ms += LEASE_MS / 2;
    });

    shown.ms = askedAt + 0.9 * LEASE_MS - 1;
    expect(live.isLeased?.()).toBe(true);
    shown.ms++;
    expect(live.isLeased?.()).toBe(false);
  });

  test("a renewal that finds a queue locked makes its lease no longer, and the next one does", async () => {
    const { shown, clock, renew } = stoppedClock();
    await using stage = await Stage.open(() => create({ leaseMs: LEASE_MS }, clock));
    const locked = await stage.handOver(sample("payment"));
    const free = await stage.handOver(sample("payment"));
    const [{ visitor }] = await sql(`select visitor from $queued where id = '${locked.id}'`);
    const operator = await database.begin();
    await operator.run(`${database.lockQueue} where visitor = '${visitor}' for update`);

    try {
      shown.ms = LEASE_MS / 3;
      await renew();
      shown.ms = 0.9 * LEASE_MS - 1;
      expect([locked, free].map(({ live }) => live.isLeased?.())).toEqual([true, true]);
      shown.ms++;
      expect([locked, free].map(({ live }) => live.isLeased?.())).toEqual([false, true]);
    } finally {
      // Otherwise the outbox waits for it when it is closed.
      await operator.end("rollback");
    }
    await renew();
    expect(locked.live.isLeased?.()).toBe(true);
  });

  test("a renewal finds out what another process has taken over, and of that a delivery counts, and no other word", async () => {
    const stopped = { ...systemClock, now: () => 0, monotonic: () => 0 };
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }, stopped));
    const released = await stage.handOver(sample("payment"));
    const tried = await stage.handOver(sample("payment"));
    const delivered = await stage.handOver(sample("payment"));
    await database.claimAll(Date.now() + 3_600_000);
    const kept = await stage.handOver(sample("payment"));
    await expect.poll(() => delivered.live.isLeased?.()).toBe(false);
    expect(kept.live.isLeased?.()).toBe(true);

    released.settle({ type: "release" });
    tried.settle(retryIn(0));
    delivered.settle({ type: "delivered" });
    kept.settle({ type: "delivered" });
    await stage.holds(2);

    const left = await sql("select history from $queued where claimed_by is not null");
    expect(left).toEqual([{ history: null }, { history: null }]);
  });

  test("a process does not claim again what it still has, however late it is", async () => {
    await using stage = await Stage.open(() => create());
    const first = await stage.handOver(sample("payment"));
    await sql("update $t.queues set due_at = 0");

    const second = sample("payment");
    await stage.add(second);

    await stage.delivers(second);
    first.settle({ type: "delivered" });
    await stage.empty();
    expect(stage.delivery.ids).toEqual([first.id, second.id]);
  });

  test("what a process has without knowing it was not sent, and is sent as new", async () => {
    await using stage = await Stage.open(() => create());
    stage.delivery.capacity = 1;
    const known = await stage.handOver(sample("payment"));
    const unknown = sample("payment");
    await stage.add(unknown);
    // As a claim leaves it that ends on the server long after its process has given up waiting for
    // the answer.
    const [{ claimed_by }] = await sql(`select claimed_by from $queued where id = '${known.id}'`);
    const [{ visitor }] = await sql(`select visitor from $queued where id = '${unknown.id}'`);
    await sql(
      `update $t.queues set turn = 101, due_at = 0, claimed_by = '${claimed_by}' where visitor = '${visitor}'`,
    );

    stage.delivery.capacity = 1;
    stage.outbox.wake();

    expect((await stage.delivery.next()).live).toMatchObject({ event: unknown, interrupted: false });
  });

  test("an event of a host whose clock is ahead is sent at once", async () => {
    await using stage = await Stage.open(() => create());
    const event = { ...sample("payment"), createdAt: Date.now() + 3_600_000 };

    const { live, settle } = await stage.handOver(event);
    expect(live).toMatchObject({ event, queuedAt: event.createdAt });
    settle({ type: "release" });
    await stage.delivers(event);
  });
}
