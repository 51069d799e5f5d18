import { describe, expect, test } from "vitest";
import { retryIn } from "../../../src/testing/contract/recorder.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithPostgres, passWith, virtualPool, withSlowClaims } from "../../helpers/postgres.js";

const REST_MS = 600_000;
const POLL_MS = 10_000;

describeWithPostgres("in virtual time", (database) => {
  test("an event rests for ten minutes, and is then sent", async () => {
    const clock = new FakeClock();
    const pool = virtualPool(database.pool(), clock);
    await using stage = await Stage.open(() =>
      database.create({ pool, listen: false, pollMs: POLL_MS }, clock),
    );
    const event = { ...sample("payment"), createdAt: clock.now() };
    stage.start();
    await stage.add(event);
    (await stage.delivery.next()).settle(retryIn(REST_MS));
    await pool.settled();

    await passWith(pool, clock, REST_MS - 1_000, POLL_MS);
    expect(stage.delivery.ids).toEqual([event.id]);
    await passWith(pool, clock, 1_000 + POLL_MS, POLL_MS);

    expect(stage.delivery.ids).toEqual([event.id, event.id]);
    expect(pool.pending).toBe(0);
  });

  test("what a process claimed and never settled is another's once its lease is over, and not before", async () => {
    const clock = new FakeClock();
    const pool = virtualPool(database.pool(), clock);
    const options = { pool, listen: false, leaseMs: REST_MS, pollMs: POLL_MS };
    const stopped = { ...clock, now: clock.now, monotonic: clock.monotonic, after: () => () => {} };
    await using dead = await Stage.open(() => database.create(options, stopped));
    dead.start();
    await dead.add({ ...sample("click"), createdAt: clock.now() });
    const { live } = await dead.delivery.next();
    await using stage = await Stage.open(() => database.reopen(options, clock));
    stage.start();

    await passWith(pool, clock, 0.9 * REST_MS - 1, POLL_MS);
    expect(live.isHeld?.()).toBe(true);
    await passWith(pool, clock, 0.1 * REST_MS - 1, POLL_MS);
    expect(live.isHeld?.()).toBe(false);
    expect(stage.delivery.ids).toEqual([]);
    await passWith(pool, clock, POLL_MS + 2, POLL_MS);

    expect(stage.delivery.ids).toEqual([live.event.id]);
    expect((await stage.delivery.next()).live.interrupted).toBe(true);
  });

  test("asks for no scheduled payment that is due until one waits, and then sends it once it is", async () => {
    const clock = new FakeClock();
    const pool = virtualPool(database.pool(), clock);
    const { query } = pool;
    let asked = 0;
    pool.query = (config) => {
      if (config.text.includes(".release_due(")) asked++;
      return query(config);
    };
    await using stage = await Stage.open(() =>
      database.create({ pool, listen: false, pollMs: POLL_MS }, clock),
    );
    stage.start();
    await stage.add({ ...sample("payment"), createdAt: clock.now() });
    (await stage.delivery.next()).settle(retryIn(REST_MS));
    await passWith(pool, clock, 60_000, 1_000);
    expect(asked).toBe(0);

    const event = sample("payment");
    const scheduled = {
      ...event,
      createdAt: clock.now(),
      data: { ...event.data, notBefore: clock.now() + 60_000 },
    };
    await stage.add(scheduled as typeof event);
    await passWith(pool, clock, 62_000, 1_000);
    expect(stage.delivery.ids.at(-1)).toBe(event.id);
    expect(asked).toBeGreaterThan(0);
  });

  describe("while all dead rows are scanned once a minute, for they are many", () => {
    /**
     * Has a host's transaction report a payment, and others be delivered before it is committed.
     */
    async function reportLate(listen: boolean) {
      const clock = new FakeClock();
      const pool = withSlowClaims(virtualPool(database.pool(), clock));
      const stage = await Stage.open(() => database.create({ pool, listen, pollMs: POLL_MS }, clock));
      stage.delivery.each(({ settle }) => settle({ type: "delivered" }));
      stage.start();
      const deliverOne = async () => {
        await stage.add({ ...sample("click"), createdAt: clock.now() });
        await stage.empty();
      };
      await deliverOne();
      const late = { ...sample("payment"), createdAt: clock.now() };
      const host = await database.begin();
      await stage.outbox.add(late, host);
      for (let second = 0; second < 3; second++) {
        await passWith(pool, clock, 1_000);
        await deliverOne();
      }
      await host.end("commit");
      return { clock, pool, stage, late };
    }

    test("an event that was committed late is delivered within a minute", async () => {
      const { clock, pool, stage, late } = await reportLate(false);
      await using _ = stage;

      await passWith(pool, clock, 60_000 + POLL_MS, POLL_MS);

      expect(stage.delivery.ids).toContain(late.id);
    });

    test("a notification says since when an event is due: it is delivered at once", async () => {
      const { stage, late } = await reportLate(true);
      await using _ = stage;

      await expect.poll(() => stage.delivery.ids).toContain(late.id);
    });
  });
});
