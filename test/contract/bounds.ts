import assert from "node:assert/strict";
import type { EventKind } from "../../src/conversion/events.js";
import type { Outbox } from "../../src/outbox/outbox.js";
import { sample } from "./samples.js";
import { type StageTests, until } from "./stage.js";

const MORE_THAN_SMALL = 20_000;
const AT_ONCE = 50;
const FLOOD = 2_000;

export function testBounds(it: StageTests): void {
  it("sheds nothing for a click, the oldest clicks for a registration, then registrations for a payment, and payments for nothing", async (stage) => {
    const { dropped } = stage.delivery;
    const kindsOf = (from: number) => new Set(dropped.slice(from).map(({ event }) => event.kind));
    stage.hold();
    const oldest = sample("click");
    await stage.add(oldest);
    const clicks = await fill(stage.outbox, "click");
    await stage.holds(1 + clicks);
    assert.equal(dropped.length, 0);

    await stage.add(sample("registration"));
    await until(() => dropped.length > 0, "nothing was shed");
    assert.deepEqual({ ...dropped[0] }, { event: oldest, reason: "full" });

    await fill(stage.outbox, "registration");
    assert.deepEqual(kindsOf(0), new Set(["click"]));
    assert.equal(await stage.outbox.add(sample("click")), "full");

    const before = dropped.length;
    await fill(stage.outbox, "payment");
    assert.deepEqual(kindsOf(before), new Set(["registration"]));
    assert.equal(await stage.outbox.add(sample("registration")), "full");
    // It has forgotten what it shed: that is no duplicate.
    assert.equal(await stage.outbox.add(oldest), "full");
  });

  it("sheds nothing that is under way, and takes events again once some are delivered", async (stage) => {
    const { delivery } = stage;
    delivery.capacity = 1;
    const handed = await stage.handOver(sample("click"));

    await fill(stage.outbox, "payment");
    handed.settle({ type: "delivered" });
    const next = await delivery.next();
    assert.deepEqual(delivery.dropped, []);
    assert.equal(next.live.event.kind, "payment");

    next.settle({ type: "delivered" });
    for (let freed = 0; freed < 20; freed++) await delivery.deliverNext();
    await stage.add(sample("payment"));
  });

  it("finds a duplicate and sheds nothing for it, even if it is full", async (stage) => {
    stage.hold();
    const [click, payment] = [sample("click"), sample("payment")];
    await stage.add(click, payment);
    await fill(stage.outbox, "click");
    for (const known of [click, payment]) assert.equal(await stage.outbox.add(known), "duplicate");
    assert.deepEqual(stage.delivery.dropped, []);
  });

  it("finds a click to shed, however many older ones are under way", async (stage) => {
    const clicks = Array.from({ length: 20 }, () => sample("click"));
    stage.delivery.capacity = clicks.length;
    await stage.handOver(...clicks);
    for (const _ of clicks.slice(1)) await stage.delivery.next();

    await fill(stage.outbox, "click");
    await stage.add(sample("payment"));
  });

  it("forgets no payment for a flood of clicks", async (stage) => {
    const payment = sample("payment");
    stage.deliverAll();
    await stage.add(payment);

    for (let sent = 0; sent < FLOOD; sent += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => stage.add(sample("click"))));
      await stage.empty();
    }

    assert.equal(await stage.outbox.add(payment), "duplicate");
  });
}

/** Adds events until one is refused. Resolves to how many were stored. */
export async function fill(outbox: Outbox, kind: EventKind, atMost = MORE_THAN_SMALL): Promise<number> {
  let taken = 0;
  while (taken < atMost) {
    const some = Array.from({ length: Math.min(AT_ONCE, atMost - taken) }, () => outbox.add(sample(kind)));
    const outcomes = await Promise.all(some);
    taken += outcomes.filter((outcome) => outcome === "queued" || outcome === "in-memory").length;
    if (outcomes.includes("full")) return taken;
    assert.ok(taken < MORE_THAN_SMALL, `${MORE_THAN_SMALL} events were taken: no small outbox`);
  }
  return taken;
}
