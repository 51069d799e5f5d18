import assert from "node:assert/strict";
import type { EventKind } from "../../src/conversion/events.js";
import type { Outbox } from "../../src/outbox/outbox.js";
import { until } from "./recorder.js";
import { sample } from "./samples.js";
import type { StageTests } from "./stage.js";

const MORE_THAN_SMALL = 20_000;
const AT_ONCE = 50;
const FLOOD = 2_000;

export function testBounds(it: StageTests): void {
  it("refuses a click when it is full of clicks", async (stage) => {
    stage.hold();

    const added = await fill(stage.outbox, "click");

    assert.ok(added > 0);
    await stage.holds(added);
    assert.deepEqual(stage.delivery.dropped, []);
  });

  it("sheds the oldest clicks for a registration, then registrations for a payment, and payments for nothing", async (stage) => {
    const { dropped } = stage.delivery;
    const kindsOf = (from: number) => new Set(dropped.slice(from).map(({ event }) => event.kind));
    stage.hold();
    const oldest = sample("click");
    await stage.add(oldest);
    await fill(stage.outbox, "click");

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
    assert.equal(await stage.outbox.add(sample("click")), "full");
  });

  it("forgets what it shed: reported again, it is no duplicate", async (stage) => {
    stage.hold();
    const shed = sample("click");
    await stage.add(shed);
    await fill(stage.outbox, "click");
    await fill(stage.outbox, "payment", 5);

    assert.equal(await stage.outbox.add(shed), "full");
  });

  it("sheds nothing that is under way", async (stage) => {
    stage.delivery.capacity = 1;
    const handed = await stage.handOver(sample("click"));

    await fill(stage.outbox, "payment");
    handed.settle({ type: "delivered" });
    const next = await stage.delivery.next();

    assert.deepEqual(stage.delivery.dropped, []);
    assert.equal(next.live.event.kind, "payment");
  });

  it("lets the visitor's next event pass one that was shed", async (stage) => {
    stage.hold();
    const click = sample("click");
    const [registration, last] = [sample("registration", click.data), sample("registration", click.data)];
    await stage.add(click, registration, last);
    await fill(stage.outbox, "registration");
    await stage.add(sample("payment"));
    await until(() => stage.delivery.dropped.length > 0, "nothing was shed");
    assert.equal(stage.delivery.dropped[0]?.event.id, click.id);

    stage.release();
    while ((await stage.delivery.deliverNext()) !== last.id);
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

  it("takes events again once something is delivered", async (stage) => {
    stage.hold();
    await fill(stage.outbox, "payment");

    stage.delivery.capacity = 1;
    stage.outbox.wake();
    await stage.delivery.deliverNext();
    const before = stage.outbox.counts().queued;
    for (let freed = 0; freed < 20; freed++) await stage.delivery.deliverNext();

    assert.ok(before > 0);
    await stage.add(sample("payment"));
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
