import { expect, test } from "vitest";
import { retryIn } from "../../contract/recorder.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

const REST_MS = 600_000;
const POLL_MS = 10_000;

describeWithPostgres("postgresOutbox in virtual time", (database) => {
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
});
