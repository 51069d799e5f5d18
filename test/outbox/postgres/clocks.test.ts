import { expect, test } from "vitest";
import type { OutboxEvent } from "../../../src/events.js";
import { retryIn } from "../../../src/testing/contract/recorder.js";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithPostgres, passWith, type VirtualPool, virtualPool } from "../../helpers/postgres.js";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LEASE_MS = 30 * SECOND_MS;
const FAR = [5 * HOUR_MS, 31 * DAY_MS];

describeWithPostgres("a server whose clock is set", (database) => {
  /** A server with a clock of its own, and processes whose clocks are right. */
  class World {
    readonly clock = new FakeClock();
    offset = 0;
    readonly #pools: VirtualPool[] = [];

    /** Creates a process's outbox: the first one makes the tables. */
    async open(): Promise<Stage> {
      const clock = { now: () => this.clock.now() + this.offset };
      const pool = virtualPool(database.pool(), clock);
      const options = { pool, listen: false, leaseMs: LEASE_MS, pollMs: 2_000 };
      const make = this.#pools.length === 0 ? database.create : database.reopen;
      this.#pools.push(pool);
      const stage = await Stage.open(() => make(options, this.clock));
      stage.start();
      await this.pass(0);
      return stage;
    }

    event(kind: "click" | "registration" | "payment"): OutboxEvent {
      return { ...sample(kind), createdAt: this.clock.now() };
    }

    async pass(ms: number): Promise<void> {
      const [first, second] = this.#pools as [VirtualPool, VirtualPool | undefined];
      const both = second && {
        ...first,
        async settled() {
          await first.settled();
          await second.settled();
        },
      };
      await passWith(both ?? first, this.clock, ms);
    }
  }

  test.each(FAR)("ahead by %i ms leaves claims with the processes that live", async (ahead) => {
    const world = new World();
    await using stage = await world.open();
    const event = world.event("registration");
    await stage.add(event);
    const underWay = await stage.delivery.next();
    await using other = await world.open();

    world.offset = ahead;
    await world.pass(2 * LEASE_MS);
    world.offset = 0;
    await world.pass(2 * LEASE_MS);

    expect(other.delivery.ids).toEqual([]);
    underWay.settle({ type: "delivered" });
    await world.pass(SECOND_MS);
    await stage.empty();
  });

  test.each(FAR)("back by %i ms lets what a dead process had be taken over after its lease", async (back) => {
    const world = new World();
    await using stage = await world.open();
    const event = world.event("click");
    stage.delivery.capacity = 0;
    await stage.add(event);
    await database.sql(
      `update $schema.events
       set claimed_by = gen_random_uuid(), written_at = to_timestamp($1), claimed_until = to_timestamp($2)`,
      [world.clock.now(), world.clock.now() + LEASE_MS].map((ms) => ms / 1_000),
    );
    stage.delivery.capacity = 8;
    await world.pass(2 * SECOND_MS);

    world.offset = -back;
    await world.pass(LEASE_MS - 10 * SECOND_MS);
    expect(stage.delivery.ids).toEqual([]);
    await world.pass(15 * SECOND_MS);

    expect(stage.delivery.ids).toEqual([event.id]);
  });

  test.each(FAR)("ahead by %i ms and back delays no event by more than its backoff", async (ahead) => {
    const world = new World();
    await using stage = await world.open();
    const event = world.event("registration");
    await stage.add(event);
    const underWay = await stage.delivery.next();

    world.offset = ahead;
    underWay.settle(retryIn(MINUTE_MS));
    await world.pass(10 * SECOND_MS);
    world.offset = 0;
    await world.pass(MINUTE_MS - 5 * SECOND_MS);
    expect(stage.delivery.ids).toEqual([event.id]);
    await world.pass(10 * SECOND_MS);

    expect(stage.delivery.ids).toEqual([event.id, event.id]);
  });

  test.each(FAR)("back by %i ms holds up nothing that comes then, and nothing that waited", async (back) => {
    const world = new World();
    await using stage = await world.open();
    await stage.add(world.event("click"));
    await world.pass(10 * SECOND_MS);
    const waits = world.event("registration");
    stage.delivery.capacity = 0;
    await stage.add(waits);
    await world.pass(10 * SECOND_MS);

    world.offset = -back;
    stage.delivery.capacity = 8;
    const comes = world.event("payment");
    await stage.add(comes);
    await world.pass(2 * SECOND_MS);

    expect(stage.delivery.ids.slice(1).sort()).toEqual([waits.id, comes.id].sort());
  });

  test.each([...FAR, ...FAR.map((ms) => -ms)])(
    "by %i ms and back forgets no delivered id",
    async (offset) => {
      const world = new World();
      await using stage = await world.open();
      stage.delivery.each(({ settle }) => settle({ type: "delivered" }));
      const [before, meanwhile] = [world.event("payment"), world.event("payment")];
      await stage.add(before);
      await world.pass(2.5 * MINUTE_MS);

      world.offset = offset;
      await stage.add(meanwhile);
      await world.pass(2.5 * MINUTE_MS);
      expect(await stage.outbox.add(before)).toBe("duplicate");
      expect(await stage.outbox.add(meanwhile)).toBe("duplicate");
      world.offset = 0;
      await world.pass(2.5 * MINUTE_MS);

      expect(await stage.outbox.add(before)).toBe("duplicate");
      expect(await stage.outbox.add(meanwhile)).toBe("duplicate");
    },
  );
});
