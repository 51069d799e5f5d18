import assert from "node:assert/strict";
import { retryIn } from "./recorder.js";
import { sample } from "./samples.js";
import { Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

export function testOnce(it: TestRunner["it"], { create }: OutboxUnderTest): void {
  it("stores an event once, however often it is added", async () => {
    await using stage = await Stage.open(create);
    const event = sample("payment");

    assert.equal(await stage.outbox.add(event), "queued");
    assert.equal(await stage.outbox.add(event), "duplicate");
    assert.equal(await stage.outbox.add({ ...event, createdAt: event.createdAt + 1 }), "duplicate");
    stage.hold();
    await stage.holds(1);
  });

  it("stores one of several that are added at the same moment", async () => {
    await using stage = await Stage.open(create);
    const event = sample("registration");

    const outcomes = await Promise.all(Array.from({ length: 4 }, () => stage.outbox.add(event)));

    assert.deepEqual(outcomes.sort(), ["duplicate", "duplicate", "duplicate", "queued"]);
  });

  it("knows an event that is under way, delivered, or resting", async () => {
    await using stage = await Stage.open(create);
    const { outbox, delivery } = stage;
    const [delivered, resting] = [sample("payment"), sample("payment")];
    stage.start();

    await stage.add(delivered);
    const underWay = await delivery.next();
    assert.equal(await outbox.add(delivered), "duplicate");
    underWay.settle({ type: "delivered" });
    await stage.empty();
    assert.equal(await outbox.add(delivered), "duplicate");

    await stage.add(resting);
    (await delivery.next()).settle(retryIn(60_000));
    assert.equal(await outbox.add(resting), "duplicate");
  });

  it("knows an event that is a dead letter, and one whose dead letter was discarded", async () => {
    await using stage = await Stage.open(create);
    const { outbox } = stage;
    const event = sample("payment");
    await stage.giveUp([event]);

    assert.equal(await outbox.add(event), "duplicate");
    assert.equal(await outbox.deadLetters.discard(event.id), true);
    assert.equal(await outbox.add(event), "duplicate");
    await stage.empty();
  });
}
