import { expect, test } from "vitest";
import { UNTRIED } from "../../../src/outbox/claim.js";
import { type Clock, systemClock } from "../../../src/shared/clock.js";
import type { Handed } from "../../contract/recorder.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import type { SqlDatabase } from "../../helpers/sql-database.js";

const LEASE_MS = 60_000;

describeWithPostgres("leases in PostgreSQL", testLeases);
describeWithMariaDb("leases in MariaDB", testLeases);

function testLeases(database: SqlDatabase): void {
  const { create, reopen, sql } = database;

  /** A clock that shows what a test says, and rings as the system's does. */
  function clockAt(): Clock & { wall: number; steady: number } {
    const clock = {
      wall: 0,
      steady: 0,
      now: () => clock.wall,
      monotonic: () => clock.steady,
      after: systemClock.after,
    };
    return clock;
  }

  test.each(["wall", "steady"] as const)(
    "a process that stood still doubts its claims: by the %s clock the lease may be over",
    async (which) => {
      const clock = clockAt();
      await using stage = await Stage.open(() => create({ leaseMs: LEASE_MS }, clock));
      const { live } = await stage.handOver(sample("payment"));

      clock[which] = 0.9 * LEASE_MS - 1;
      expect(live.isHeld?.()).toBe(true);
      clock[which]++;
      expect(live.isHeld?.()).toBe(false);
    },
  );

  test("a renewal finds out which claims another process has taken over", async () => {
    await using stage = await Stage.open(() => create({ leaseMs: 1_000 }, clockAt()));
    const taken = await stage.handOver(sample("payment"));
    const own = await stage.handOver(sample("payment"));

    await sql(
      `update $t.queues set claimed_by = 'another' where visitor = (select visitor from $queued where id = '${taken.id}')`,
    );
    await expect.poll(() => taken.live.isHeld?.(), { timeout: 10_000 }).toBe(false);
    expect(own.live.isHeld?.()).toBe(true);
  });

  /** Has another process take over the one event, and hold it. */
  async function takeOver(other: Stage): Promise<Handed> {
    other.start();
    await sql("update $t.queues set due_at = 0 where turn = 101");
    const taken = await other.delivery.next();
    taken.settle({ type: "dead", reason: "unconfirmed", code: "ERR_INTERRUPTED", attempts: 1 });
    await expect.poll(() => other.delivery.told).toHaveLength(1);
    return taken;
  }

  test.each([UNTRIED, { ...UNTRIED, attempts: 2, failures: 1, triedAt: 7 }])(
    "what a process that stood still never sent is queued again as it was, if another has held it",
    async (history) => {
      const clock = clockAt();
      await using stage = await Stage.open(() => create({ leaseMs: LEASE_MS }, clock));
      // One event takes the only slot, so the stage has no claim under way below.
      stage.delivery.capacity = 1;
      const event = sample("payment");
      let stopped = await stage.handOver(event);
      if (history.attempts > 0) {
        stopped.settle({ type: "retry", inMs: 0, history });
        stopped = await stage.delivery.next();
      }
      clock.steady = LEASE_MS;
      await using other = await Stage.open(() => reopen());
      const taken = await takeOver(other);
      expect(taken.live.interrupted).toBe(true);
      stage.delivery.lanes = [];

      stopped.settle({ type: "release" });

      const again = await other.delivery.next();
      expect(again.live).toMatchObject({ event, history, interrupted: false, queuedAt: event.createdAt });
      expect(await other.outbox.deadLetters.list()).toEqual([]);
    },
  );

  test("what may have been sent before a process stood still stays held", async () => {
    const clock = clockAt();
    await using stage = await Stage.open(() => create({ leaseMs: LEASE_MS }, clock));
    stage.delivery.capacity = 1;
    await stage.add(sample("payment"));
    await database.claimAll(0);
    stage.start();
    const stopped = await stage.delivery.next();
    expect(stopped.live.interrupted).toBe(true);
    clock.steady = LEASE_MS;
    await using other = await Stage.open(() => reopen());
    await takeOver(other);

    stopped.settle({ type: "release" });

    await expect.poll(() => stage.delivery.told).toHaveLength(1);
    expect(await other.outbox.deadLetters.list()).toMatchObject([{ id: stopped.id }]);
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
