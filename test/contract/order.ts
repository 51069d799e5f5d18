import assert from "node:assert/strict";
import type { OutboxEvent } from "../../src/conversion/events.js";
import { idsOf, sample, stranger } from "./samples.js";
import { type Handed, REJECTED, retryIn, type StageTests, until } from "./stage.js";

export function testOrder(it: StageTests): void {
  it("holds an event that brings two visitors together back for the one that has its session id, and later events of both for it", async (stage) => {
    const { clickId, sessionId } = stranger();
    const byClick = sample("click", { clickId });
    const bySession = sample("payment", { sessionId });
    const byBoth = sample("registration", { clickId, sessionId });
    const [after, last] = [sample("payment", { sessionId }), sample("payment", { clickId })];
    await stage.add(byClick, bySession, byBoth, after);
    stage.start();

    const [session, click] = (await stage.take(2)) as [Handed, Handed];
    assert.deepEqual(idsOf([session, click]), idsOf([bySession, byClick]));
    click.settle({ type: "delivered" });
    await until(() => stage.delivery.told.length === 1, "the verdict was not acted on");
    await stage.add(last);
    await stage.deliversStranger();
    session.settle({ type: "delivered" });
    await stage.delivers(byBoth, after, last);
  });

  it("does not hold back events that have no id in common, or no id at all", async (stage) => {
    const events = [sample("payment", {}), sample("payment", {}), sample("payment"), sample("payment")];
    await stage.add(...events);
    stage.start();

    assert.deepEqual(idsOf(await stage.take(events.length)), idsOf(events));
  });

  it("keeps order through hundreds of events with failures of every kind", async (stage) => {
    const random = seeded(20_240_229);
    const visitors = Array.from({ length: 12 }, () => stranger());
    const events = Array.from({ length: 300 }, () => sample("payment", someIdsOf(visitors, random)));
    stage.delivery.capacity = 8;
    stage.start();
    await Promise.all(events.map((event) => stage.add(event)));

    const gone: OutboxEvent[] = [];
    while (gone.length < events.length) {
      const { live, settle } = await stage.delivery.next();
      const luck = random();
      if (luck < 0.15) settle(retryIn(1 + 10 * random()));
      else if (luck < 0.25) settle({ type: "release" });
      else {
        gone.push(live.event);
        settle(luck < 0.35 ? { type: "dead", ...REJECTED } : { type: "delivered" });
      }
    }
    await stage.empty();

    assert.deepEqual(idsOf(gone).sort(), idsOf(events).sort());
    for (const { clickId, sessionId } of visitors) {
      const isTheirs = ({ data }: OutboxEvent) => data.clickId === clickId || data.sessionId === sessionId;
      assert.deepEqual(idsOf(gone.filter(isTheirs)), idsOf(events.filter(isTheirs)));
    }
  });
}

type Ids = ReturnType<typeof stranger>;

/** Ids of one of these visitors, or none. Half of them are known by each id, and half by the other. */
export function someIdsOf(visitors: readonly Ids[], random: () => number): Partial<Ids> {
  if (random() < 0.1) return {};
  const nth = Math.floor(random() * visitors.length);
  const { clickId, sessionId } = visitors[nth] as Ids;
  if (random() < 0.5) return { clickId, sessionId };
  return nth % 2 === 0 ? { clickId } : { sessionId };
}

/** Random numbers that are the same at every run (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
