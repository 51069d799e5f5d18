import assert from "node:assert/strict";
import type { Outbox } from "../../outbox/outbox.js";
import { fill } from "./bounds.js";
import { until } from "./recorder.js";
import { paying, signingUp } from "./samples.js";
import { Stage } from "./stage.js";
import type { TestRunner } from "./under-test.js";

export function testKeptForTheUrgent(
  it: TestRunner["it"],
  createSmall: () => Outbox | Promise<Outbox>,
): void {
  it("keeps what a payment waits for, and sheds what a registration waits for with the registrations", async () => {
    await using stage = await Stage.open(createSmall);
    const { dropped } = stage.delivery;
    const kept = paying();
    const lead = signingUp();
    stage.hold();
    await stage.add(...lead, ...kept);
    await fill(stage.outbox, "click");
    await fill(stage.outbox, "registration");
    const ids = () => dropped.map(({ event }) => event.id);
    assert.ok(dropped.every(({ event }) => event.kind === "click"));
    assert.ok(!ids().includes(lead[0].id));

    await fill(stage.outbox, "payment");
    await until(() => ids().includes(lead[1].id), "the registration was kept");
    assert.ok(ids().includes(lead[0].id));
    for (const { id } of kept) assert.ok(!ids().includes(id));

    stage.delivery.lanes = [{ endpoint: "click", limit: 1 }];
    stage.release();
    assert.equal(await stage.delivery.deliverNext(), kept[0].id);
  });

  it("keeps the click of a payment that comes when it is full of clicks", async () => {
    await using stage = await Stage.open(createSmall);
    const [click, registration, payment] = paying();
    stage.hold();
    await stage.add(click);
    await fill(stage.outbox, "click");
    await stage.add(registration, payment);
    await until(() => stage.delivery.dropped.length > 0, "nothing was shed");
    await fill(stage.outbox, "payment");

    assert.ok(!stage.delivery.dropped.some(({ event }) => event.id === click.id));
    assert.ok(!stage.delivery.dropped.some(({ event }) => event.id === registration.id));
  });
}
