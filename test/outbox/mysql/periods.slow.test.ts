import type { MysqlPool } from "express-affiliate/mysql";
import { expect, test } from "vitest";
import { sample } from "../../../src/testing/contract/samples.js";
import { Stage } from "../../../src/testing/contract/stage.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { describeWithMariaDb, virtualPool } from "../../helpers/mysql.js";

const HOUR_MS = 3_600_000;
const REST_MS = 60_000;
const POLL_MS = 1_000;

describeWithMariaDb("an event that is older than the last look for periods", (database) => {
  /**
   * Two processes on the same tables, which a test starts, and an event that happened an hour ago.
   */
  async function twoProcesses() {
    const clock = new FakeClock();
    const pool = virtualPool(database.pool(), clock);
    clock.settled = pool.settled;
    const options = { pool: pool as MysqlPool, pollMs: POLL_MS };
    const reporting = await Stage.open(() => database.create(options, clock));
    const other = await Stage.open(() => database.reopen(options, clock));
    const old = () => ({ ...sample("payment"), createdAt: clock.now() - HOUR_MS });
    return { clock, reporting, other, old };
  }

  test("goes at once if its own process reports it", async () => {
    const { clock, reporting, other, old } = await twoProcesses();
    await using stage = reporting;
    await using _ = other;
    stage.start();
    await clock.pass(POLL_MS);
    const event = old();
    await stage.add(event);

    expect(await stage.delivery.deliverNext()).toBe(event.id);
  });

  test("goes with another process's next poll if that process has looked before", async () => {
    const { clock, reporting, other, old } = await twoProcesses();
    await using stage = reporting;
    await using polling = other;
    stage.hold();
    polling.delivery.each(({ settle }) => settle({ type: "delivered" }));
    polling.start();
    await clock.pass(POLL_MS);
    const event = old();
    await stage.add(event);
    await clock.pass(POLL_MS);

    expect(polling.delivery.ids).toEqual([event.id]);
  });

  test("goes with another process's next poll if its own gives it back", async () => {
    const { clock, reporting, other, old } = await twoProcesses();
    await using stage = reporting;
    await using polling = other;
    polling.hold();
    stage.delivery.capacity = 1;
    stage.start();
    const event = old();
    await stage.add(event);
    const { settle } = await stage.delivery.next();
    polling.release();
    await clock.pass(POLL_MS);
    stage.delivery.capacity = Number.NEGATIVE_INFINITY;
    settle({ type: "release" });
    await clock.pass(2 * POLL_MS);

    expect(polling.delivery.ids).toEqual([event.id]);
  });

  test("goes at once if its own process gives it back", async () => {
    const { clock, reporting, other, old } = await twoProcesses();
    await using stage = reporting;
    await using _ = other;
    stage.start();
    const event = old();
    await stage.add(event);
    const { settle } = await stage.delivery.next();
    await clock.pass(POLL_MS);
    // Its claim looks for periods.
    await stage.add(sample("payment"));
    await stage.delivery.next();
    settle({ type: "release" });

    expect(await stage.delivery.deliverNext()).toBe(event.id);
  });

  test("goes at once if it has rested, and a payment comes to wait for it", async () => {
    const { clock, reporting, other, old } = await twoProcesses();
    await using stage = reporting;
    await using _ = other;
    const { lanes } = stage.delivery;
    stage.start();
    const payment = old();
    const click = sample("click", payment.data);
    await stage.add(click);
    const { settle, live } = await stage.delivery.next();
    stage.delivery.lanes = lanes.filter(({ endpoint }) => endpoint !== "click");
    settle({ type: "retry", inMs: POLL_MS, history: { ...live.history, attempts: 1, triedAt: clock.now() } });
    await clock.pass(REST_MS);
    stage.delivery.lanes = lanes;
    await stage.add({ ...payment, createdAt: clock.now() });

    expect(await stage.delivery.deliverNext()).toBe(click.id);
  });

  test("goes once it has rested", async () => {
    const { clock, reporting, other, old } = await twoProcesses();
    await using stage = reporting;
    await using _ = other;
    stage.start();
    const event = old();
    await stage.add(event);
    const { settle, live } = await stage.delivery.next();
    settle({ type: "retry", inMs: REST_MS, history: { ...live.history, attempts: 1, triedAt: clock.now() } });
    await clock.pass(REST_MS - 1);
    expect(stage.delivery.ids).toEqual([event.id]);
    await clock.pass(POLL_MS);

    expect(stage.delivery.ids).toEqual([event.id, event.id]);
  });
});
