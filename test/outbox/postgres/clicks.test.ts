import type { OutboxEvent } from "express-affiliate";
import { expect, test } from "vitest";
import { sample, stranger } from "../../contract/samples.js";
import { Stage } from "../../contract/stage.js";
import { describeWithPostgres } from "../../helpers/postgres.js";

const MOST = 100;

describeWithPostgres("the clicks of a visitor", (database) => {
  const { create, sql } = database;

  /** Clicks of one session, each with a click id of its own. */
  function clicksOf(sessionId: string, number: number) {
    return Array.from({ length: number }, () =>
      sample("click", { clickId: stranger().clickId as string, sessionId }),
    );
  }

  const idsDropped = ({ delivery }: Stage) => delivery.dropped.map(({ event }) => event.id);

  test("a click in the host's own transaction makes the visitor's oldest give way", async () => {
    await using stage = await Stage.open(() => create());
    stage.hold();
    const clicks = clicksOf("a", MOST);
    await Promise.all(clicks.map((click) => stage.add(click)));
    const host = await database.begin();

    const last = sample("click", { ...stranger(), sessionId: "a" });
    expect(await stage.outbox.add(last, host)).toBe("queued");
    await host.end("commit");
    // A claim finds it.
    stage.delivery.lanes = [{ endpoint: "lead/payment", limit: 1 }];
    stage.release();

    await expect.poll(() => idsDropped(stage)).toEqual([clicks[0]?.id]);
    expect(await sql("select count(*)::int as n from $schema.events")).toEqual([{ n: MOST }]);
  });

  test("holds in a flood: all give way but the newest, and none that is under way", async () => {
    await using stage = await Stage.open(() => create());
    const clicks = clicksOf("a", 3 * MOST);
    const other = sample("click");
    stage.delivery.capacity = 1;
    const underWay = await stage.handOver(clicks[0] as never);
    stage.delivery.capacity = 0;
    await stage.add(other);

    await Promise.all(clicks.slice(1).map((click) => stage.add(click)));

    await expect.poll(() => idsDropped(stage)).toHaveLength(2 * MOST);
    await stage.holds(MOST + 1);
    const dropped = new Set(idsDropped(stage));
    expect(dropped.has(underWay.id)).toBe(false);
    expect(dropped.has(other.id)).toBe(false);
    expect(clicks.slice(1, 1 + 2 * MOST).every(({ id }) => dropped.has(id))).toBe(true);
    stage.delivery.capacity = -1;
    underWay.settle({ type: "delivered" });
    await expect.poll(() => stage.delivery.told).toHaveLength(1);
    stage.delivery.capacity = 2;
    stage.outbox.wake();
    const next = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    expect(next.sort()).toEqual([clicks[1 + 2 * MOST]?.id, other.id].sort());
  });

  test("what waited behind a click that gave way has its turn", async () => {
    await using stage = await Stage.open(() => create());
    const clicks = clicksOf("a", MOST + 1);
    const [first, second] = clicks as [OutboxEvent, OutboxEvent];
    const underWay = await stage.handOver(first);
    const registration = sample("registration", { clickId: second.data.clickId as string });
    await Promise.all([second, registration, ...clicks.slice(2, MOST)].map((event) => stage.add(event)));

    await stage.add(clicks[MOST] as never);

    await expect.poll(() => idsDropped(stage)).toEqual([second.id]);
    underWay.settle({ type: "delivered" });
    await stage.delivers(registration, clicks[2] as never);
  });

  test("a visitor without a session is a click id; what has neither is bound by nothing", async () => {
    await using stage = await Stage.open(() => create());
    stage.hold();
    const clicks = Array.from({ length: MOST + 1 }, () => sample("click", { clickId: "a" }));
    const unknown = Array.from({ length: MOST + 1 }, () => sample("click", {}));

    await Promise.all([...unknown, ...clicks].map((event) => stage.add(event)));

    await expect.poll(() => idsDropped(stage)).toEqual([clicks[0]?.id]);
    await stage.holds(2 * MOST + 1);
  });

  test("payments count as no clicks, and never give way", async () => {
    await using stage = await Stage.open(() => create());
    stage.hold();
    const payments = Array.from({ length: MOST + 1 }, () => sample("payment", { sessionId: "a" }));
    await Promise.all([...payments, ...clicksOf("a", MOST)].map((event) => stage.add(event)));
    expect(stage.delivery.dropped).toEqual([]);

    await stage.add(...clicksOf("a", 1));

    await expect.poll(() => stage.delivery.dropped.map(({ event }) => event.kind)).toEqual(["click"]);
  });
});
