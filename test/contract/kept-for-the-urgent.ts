import assert from "node:assert/strict";
import { fill } from "./bounds.js";
import { paying, sample, signingUp } from "./samples.js";
import { type Stage, type StageTests, until } from "./stage.js";

const isDropped = ({ delivery }: Stage, { id }: { readonly id: string }) =>
  delivery.dropped.some(({ event }) => event.id === id);

export function testKeptForTheUrgent(it: StageTests): void {
  it("keeps what a payment waits for, and sheds what a registration waits for with the registrations", async (stage) => {
    const kept = paying();
    const [click, registration] = signingUp();
    stage.hold();
    await stage.add(click, registration, ...kept);
    await fill(stage.outbox, "click");
    await fill(stage.outbox, "registration");
    assert.ok(stage.delivery.dropped.every(({ event }) => event.kind === "click"));
    assert.ok(!isDropped(stage, click));

    await fill(stage.outbox, "payment");
    await until(() => isDropped(stage, registration), "the registration was kept");
    assert.ok(isDropped(stage, click));
    assert.ok(!kept.some((each) => isDropped(stage, each)));

    stage.delivery.lanes = [{ endpoint: "click", limit: 1 }];
    stage.release();
    await stage.delivers(kept[0]);
  });

  it("keeps the click of a payment that comes when it is full of clicks", async (stage) => {
    const [click, registration, payment] = paying();
    stage.hold();
    await stage.add(click);
    await fill(stage.outbox, "click");
    await stage.add(registration, payment);
    await until(() => stage.delivery.dropped.length > 0, "nothing was shed");
    await fill(stage.outbox, "payment");

    assert.ok(!isDropped(stage, click));
    assert.ok(!isDropped(stage, registration));
  });

  // docs/delivery.md says so of our own outboxes, and `Outbox` demands it of none.
  it("keeps a click as urgent as the registration behind it was, once that is shed", async (stage) => {
    const { delivery } = stage;
    const [click, registration] = signingUp();
    stage.hold();
    await stage.add(sample("click"), click, registration);
    delivery.lanes = [{ endpoint: "click", limit: 1 }];
    delivery.capacity = 1;
    stage.outbox.wake();
    const first = await delivery.next();
    assert.deepEqual(first.live.event, click);

    await fill(stage.outbox, "payment");
    await until(() => isDropped(stage, registration), "the registration was kept");
    first.settle({ type: "release" });

    assert.deepEqual((await delivery.next()).live.event, click);
  });
}
