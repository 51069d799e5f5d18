import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { sample } from "../../contract/samples.js";
import { retryIn, Stage } from "../../contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";
import { describeWithPostgres } from "../../helpers/postgres.js";
import type { Settling, SqlDatabase } from "../../helpers/sql-database.js";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../helpers/times.js";

const LEASE_MS = 30 * SECOND_MS;
const FAR = [5 * HOUR_MS, 31 * DAY_MS];

describeWithPostgres("a PostgreSQL server whose clock is set", testServerClocks);
describeWithMariaDb("a MariaDB server whose clock is set", testServerClocks);

/** What a server's clock that is set does, and does not, and leases of different lengths. */
function testServerClocks<Pool>(database: SqlDatabase<Pool>): void {
  /**
   * A server with a clock of its own, and processes whose clocks are right, unless a test says
   * otherwise.
   */
  class World {
    readonly clock = new FakeClock();
    offset = 0;
    readonly #pools: Settling[] = [];

    /** @param hostOffset how far the process's clock is ahead. */
    async open(leaseMs = LEASE_MS, hostOffset = 0): Promise<Stage> {
      const open = this.#pools.length === 0 ? database.create : database.reopen;
      const pool = database.virtualPool({ now: () => this.clock.now() + this.offset });
      this.#pools.push(pool);
      this.clock.settled = async () => {
        for (const { settled } of this.#pools) await settled();
      };
      const clock = { ...this.clock, now: () => this.clock.now() + hostOffset };
      const stage = await Stage.open(() => open({ pool, leaseMs, pollMs: 2_000 }, clock));
      stage.start();
      await this.pass(0);
      return stage;
    }

    event(kind: "click" | "registration" | "payment"): OutboxEvent {
      return { ...sample(kind), createdAt: this.clock.now() };
    }

    pass(ms: number): Promise<void> {
      return this.clock.pass(ms);
    }
  }

  test.each(FAR)("ahead by %i ms leaves claims with the processes that live", async (ahead) => {
    const world = new World();
    await using stage = await world.open();
    const underWay = await stage.handOver(world.event("registration"));
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

  test.each(FAR)("back by %i ms lets what a dead process had be taken over soon", async (back) => {
    const world = new World();
    await using stage = await world.open();
    const event = world.event("click");
    stage.delivery.capacity = 0;
    await stage.add(event);
    await database.claimAll(world.clock.now() + LEASE_MS);
    stage.delivery.capacity = 8;
    await world.pass(2 * SECOND_MS);

    world.offset = -back;
    await world.pass(LEASE_MS);
    expect(stage.delivery.ids).toEqual([]);
    // Upkeep makes its lease shorter, and nobody renews it.
    await world.pass(2 * MINUTE_MS);

    expect(stage.delivery.ids).toEqual([event.id]);
  });

  test.each(FAR)("ahead by %i ms and back delays no event by more than its backoff", async (ahead) => {
    const world = new World();
    await using stage = await world.open();
    const { id, settle } = await stage.handOver(world.event("registration"));

    world.offset = ahead;
    settle(retryIn(MINUTE_MS));
    await world.pass(10 * SECOND_MS);
    expect(stage.delivery.ids).toEqual([id]);
    world.offset = 0;
    await world.pass(MINUTE_MS + 10 * SECOND_MS);

    expect(stage.delivery.ids).toEqual([id, id]);
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
      const expectKnown = async () => {
        for (const event of [before, meanwhile]) expect(await stage.outbox.add(event)).toBe("duplicate");
      };
      await stage.add(before);
      await world.pass(2.5 * MINUTE_MS);

      world.offset = offset;
      await stage.add(meanwhile);
      await world.pass(2.5 * MINUTE_MS);
      await expectKnown();
      world.offset = 0;
      await world.pass(2.5 * MINUTE_MS);

      await expectKnown();
    },
  );

  test("ahead by 31 days forgets ids once the process's own clock is as far ahead", async () => {
    await using stage = await Stage.open(() => database.create());
    const { live, settle } = await stage.handOver(sample("payment"));
    settle({ type: "delivered" });
    await stage.empty();
    const ahead = { now: () => Date.now() + 31 * DAY_MS };

    await database.upkeep(database.virtualPool(ahead));
    expect(await stage.outbox.add(live.event)).toBe("duplicate");
    await database.upkeep(database.virtualPool(ahead), ahead);
    expect(await stage.outbox.add(live.event)).toBe("queued");
  });

  test("a process with a short lease leaves alone what one with a long lease has, and takes it over once that is over", async () => {
    const world = new World();
    await using stage = await world.open();
    const orphan = world.event("registration");
    const underWay = await stage.handOver(world.event("click"));
    stage.delivery.capacity = 0;
    await using other = await world.open(LEASE_MS / 10);
    await world.pass(3 * LEASE_MS);
    expect(other.delivery.ids).toEqual([]);
    underWay.settle({ type: "delivered" });
    stage.delivery.capacity = 0;
    await world.pass(SECOND_MS);

    other.delivery.capacity = 0;
    await stage.add(orphan);
    await database.claimAll(world.clock.now() + LEASE_MS);
    other.delivery.capacity = 8;
    await world.pass(LEASE_MS - 10 * SECOND_MS);
    expect(other.delivery.ids).toEqual([]);
    await world.pass(15 * SECOND_MS);
    expect(other.delivery.ids).toEqual([orphan.id]);
  });
}
