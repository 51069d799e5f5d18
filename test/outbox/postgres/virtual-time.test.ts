import type { PostgresPool } from "express-affiliate/postgres";
import { describe, expect, test, vi } from "vitest";
import { retryIn } from "../../contract/recorder.js";
import { sample, withData } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithPostgres, withSlowClaims } from "../../helpers/postgres.js";

const REST_MS = 600_000;
const POLL_MS = 10_000;

describeWithPostgres("in virtual time", (database) => {
  /** A clock, and a server that goes by it. */
  function virtual() {
    const clock = new FakeClock();
    return { clock, options: { pool: database.virtualPool(clock), pollMs: POLL_MS } };
  }

  test("an event rests for ten minutes, and is then sent", async () => {
    const { clock, options } = virtual();
    await using stage = await Stage.open(() => database.create(options, clock));
    const event = { ...sample("payment"), createdAt: clock.now() };
    (await stage.handOver(event)).settle(retryIn(REST_MS));

    await clock.pass(REST_MS - 1_000);
    expect(stage.delivery.ids).toEqual([event.id]);
    await clock.pass(1_000 + POLL_MS);

    expect(stage.delivery.ids).toEqual([event.id, event.id]);
  });

  test("what a process claimed and never settled is another's once its lease is over, and not before", async () => {
    const { clock, options } = virtual();
    const leasing = { ...options, leaseMs: REST_MS };
    const stopped = { ...clock, after: () => () => {} };
    await using dead = await Stage.open(() => database.create(leasing, stopped));
    const { live } = await dead.handOver({ ...sample("click"), createdAt: clock.now() });
    await using stage = await Stage.open(() => database.reopen(leasing, clock));
    stage.start();

    await clock.pass(0.9 * REST_MS - 1);
    expect(live.isHeld?.()).toBe(true);
    await clock.pass(0.1 * REST_MS - 1);
    expect(live.isHeld?.()).toBe(false);
    expect(stage.delivery.ids).toEqual([]);
    await clock.pass(POLL_MS + 2);

    expect(stage.delivery.ids).toEqual([live.event.id]);
    expect((await stage.delivery.next()).live.interrupted).toBe(true);
  });

  test("asks for no scheduled payment that is due until one waits, and then sends it once it is", async () => {
    const { clock, options } = virtual();
    const query = vi.spyOn<PostgresPool, "query">(options.pool, "query");
    const asked = () => query.mock.calls.filter(([{ text }]) => text.includes(".release_due(")).length;
    await using stage = await Stage.open(() => database.create(options, clock));
    const first = { ...sample("payment"), createdAt: clock.now() };
    (await stage.handOver(first)).settle(retryIn(REST_MS));
    await clock.pass(60_000);
    expect(asked()).toBe(0);

    const scheduled = withData(sample("payment"), { notBefore: clock.now() + 60_000 });
    await stage.add({ ...scheduled, createdAt: clock.now() });
    await clock.pass(62_000);
    expect(stage.delivery.ids.at(-1)).toBe(scheduled.id);
    expect(asked()).toBeGreaterThan(0);
  });

  describe("while all dead rows are scanned once a minute, for they are many", () => {
    /**
     * Has a host's transaction report a payment, and others be delivered before it is committed.
     */
    async function reportLate(listen: boolean) {
      const clock = new FakeClock();
      const pool = withSlowClaims(database.virtualPool(clock));
      const stage = await Stage.open(() => database.create({ pool, listen, pollMs: POLL_MS }, clock));
      stage.deliverAll();
      const deliverOne = async () => {
        await stage.add({ ...sample("click"), createdAt: clock.now() });
        await stage.empty();
      };
      await deliverOne();
      const late = { ...sample("payment"), createdAt: clock.now() };
      const host = await database.begin();
      await stage.outbox.add(late, host);
      for (let second = 0; second < 3; second++) {
        await clock.pass(1_000);
        await deliverOne();
      }
      await host.end("commit");
      return { clock, stage, late };
    }

    test("an event that was committed late is delivered within a minute", async () => {
      const { clock, stage, late } = await reportLate(false);
      await using _ = stage;

      await clock.pass(60_000 + POLL_MS);

      expect(stage.delivery.ids).toContain(late.id);
    });

    test("a notification says since when an event is due: it is delivered at once", async () => {
      const { stage, late } = await reportLate(true);
      await using _ = stage;

      await expect.poll(() => stage.delivery.ids).toContain(late.id);
    });
  });
});
