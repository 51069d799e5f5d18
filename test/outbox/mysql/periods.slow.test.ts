import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { retryIn } from "../../contract/recorder.js";
import { sample } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithMariaDb } from "../../helpers/mysql.js";

const HOUR_MS = 3_600_000;
const REST_MS = 60_000;
const POLL_MS = 1_000;

describeWithMariaDb("an event that is older than the last look for periods", (database) => {
  /** What a test has: two processes on the same tables, which it starts, and events of an hour ago. */
  interface Two {
    readonly clock: FakeClock;
    readonly stage: Stage;
    readonly other: Stage;
    old(): OutboxEvent;
  }

  function testTwo(title: string, body: (two: Two) => Promise<void>): void {
    test(title, async () => {
      const clock = new FakeClock();
      const pool = database.virtualPool(clock);
      const options = { pool, pollMs: POLL_MS };
      await using stage = await Stage.open(() => database.create(options, clock));
      await using other = await Stage.open(() => database.reopen(options, clock));
      const old = () => ({ ...sample("payment"), createdAt: clock.now() - HOUR_MS });
      await body({ clock, stage, other, old });
    });
  }

  testTwo("goes at once if its own process reports it", async ({ clock, stage, old }) => {
    stage.start();
    await clock.pass(POLL_MS);
    const event = old();
    await stage.add(event);

    await stage.delivers(event);
  });

  testTwo("goes with another process's next poll if that process has looked before", async (two) => {
    const { clock, stage, other, old } = two;
    stage.hold();
    other.deliverAll();
    await clock.pass(POLL_MS);
    const event = old();
    await stage.add(event);
    await clock.pass(POLL_MS);

    expect(other.delivery.ids).toEqual([event.id]);
  });

  testTwo("goes with another process's next poll if its own gives it back", async (two) => {
    const { clock, stage, other, old } = two;
    other.hold();
    stage.delivery.capacity = 1;
    const { id, settle } = await stage.handOver(old());
    other.release();
    await clock.pass(POLL_MS);
    stage.delivery.capacity = Number.NEGATIVE_INFINITY;
    settle({ type: "release" });
    await clock.pass(2 * POLL_MS);

    expect(other.delivery.ids).toEqual([id]);
  });

  testTwo("goes at once if its own process gives it back", async ({ clock, stage, old }) => {
    const event = old();
    const { settle } = await stage.handOver(event);
    await clock.pass(POLL_MS);
    // Its claim looks for periods.
    await stage.handOver(sample("payment"));
    settle({ type: "release" });

    await stage.delivers(event);
  });

  testTwo("goes at once if it has rested, and a payment comes to wait for it", async (two) => {
    const { clock, stage, old } = two;
    const { lanes } = stage.delivery;
    const payment = old();
    const click = sample("click", payment.data);
    const { settle } = await stage.handOver(click);
    stage.delivery.lanes = lanes.filter(({ endpoint }) => endpoint !== "click");
    settle(retryIn(POLL_MS, { failures: 0, triedAt: clock.now() }));
    await clock.pass(REST_MS);
    stage.delivery.lanes = lanes;
    await stage.add({ ...payment, createdAt: clock.now() });

    await stage.delivers(click);
  });

  testTwo("goes once it has rested", async ({ clock, stage, old }) => {
    const { id, settle } = await stage.handOver(old());
    settle(retryIn(REST_MS, { failures: 0, triedAt: clock.now() }));
    await clock.pass(REST_MS - 1);
    expect(stage.delivery.ids).toEqual([id]);
    await clock.pass(POLL_MS);

    expect(stage.delivery.ids).toEqual([id, id]);
  });
});
