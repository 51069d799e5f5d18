import assert from "node:assert/strict";
import type { OutboxEvent } from "../../src/conversion/events.js";
import { idsOf, sample, stranger } from "./samples.js";
import { type Stage, type StageTests, until } from "./stage.js";

const MOST = 100;

/** Clicks of one session, each with a click id of its own. */
export function clicksOf(number: number, { sessionId } = stranger()): OutboxEvent[] {
  return Array.from({ length: number }, () => sample("click", { ...stranger(), sessionId }));
}

/** Resolves once these were dropped, in this order, and no others. */
async function drops({ delivery: { dropped } }: Stage, ...events: readonly OutboxEvent[]): Promise<void> {
  await until(
    () => dropped.length >= events.length,
    () => `${dropped.length} clicks were dropped, and not ${events.length},`,
  );
  assert.deepEqual(idsOf(dropped.map(({ event }) => event)), idsOf(events));
  assert.ok(dropped.every(({ reason }) => reason === "visitor-full"));
}

/** The clicks of one visitor are bounded. */
export function testClicks(it: StageTests): void {
  it("keeps 100 clicks of a visitor, drops that visitor's oldest for a new one, and counts no payments", async (stage) => {
    const visitor = stranger();
    const clicks = clicksOf(MOST + 3, visitor);
    stage.hold();
    await stage.add(sample("click"), sample("payment", visitor), ...clicks, sample("payment", visitor));

    await drops(stage, ...clicks.slice(0, 3));
    await stage.holds(MOST + 3);
    // Forgotten as well: reported again, it is no duplicate.
    assert.equal(await stage.outbox.add(clicks[0] as OutboxEvent), "queued");
  });

  it("knows a visitor without a session by the click id, bounds nothing that has neither, and sends the next if it drops the first", async (stage) => {
    const { clickId } = stranger();
    const clicks = Array.from({ length: MOST + 1 }, () => sample("click", { clickId }));
    const unknown = Array.from({ length: MOST + 1 }, () => sample("click", {}));
    stage.hold();

    await Promise.all([...unknown, ...clicks].map((event) => stage.add(event)));

    await drops(stage, clicks[0] as OutboxEvent);
    await stage.holds(2 * MOST + 1);
    stage.release();
    const sent = idsOf(await stage.take(unknown.length + 1));
    assert.deepEqual(sent.sort(), idsOf([...unknown, clicks[1] as OutboxEvent]).sort());
  });

  it("drops nothing that is under way for a flood of clicks, and lets pass what waited behind a dropped one", async (stage) => {
    const clicks = clicksOf(3 * MOST);
    const [first, second, ...later] = clicks as [OutboxEvent, OutboxEvent, ...OutboxEvent[]];
    const underWay = await stage.handOver(first);
    const registration = sample("registration", { clickId: second.data.clickId as string });
    await stage.add(second, registration);

    await Promise.all(later.map((click) => stage.add(click)));

    await drops(stage, ...clicks.slice(1, 1 + 2 * MOST));
    await stage.holds(MOST + 1);
    underWay.settle({ type: "delivered" });
    await stage.delivers(registration, clicks[1 + 2 * MOST] as OutboxEvent);
  });
}
