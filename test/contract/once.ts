import assert from "node:assert/strict";
import { retryIn } from "./recorder.js";
import { sample } from "./samples.js";
import type { StageTests } from "./stage.js";

export function testOnce(it: StageTests): void {
  it("is bound to one client id, once", async ({ outbox }) => {
    assert.throws(() => outbox.bind(43), { code: "ERR_AFFILIATE_OUTBOX_TAKEN" });
  });

  it("stores an event once, however often it is added, and at the same moment", async (stage) => {
    const event = sample("payment");

    const outcomes = await Promise.all(Array.from({ length: 4 }, () => stage.outbox.add(event)));

    assert.deepEqual(outcomes.sort(), ["duplicate", "duplicate", "duplicate", "queued"]);
    assert.equal(await stage.outbox.add({ ...event, createdAt: event.createdAt + 1 }), "duplicate");
    stage.hold();
    await stage.holds(1);
  });

  it("knows an event that is under way, delivered, or resting", async (stage) => {
    const { outbox } = stage;
    const [delivered, resting] = [sample("payment"), sample("payment")];

    const underWay = await stage.handOver(delivered);
    assert.equal(await outbox.add(delivered), "duplicate");
    underWay.settle({ type: "delivered" });
    await stage.empty();
    assert.equal(await outbox.add({ ...delivered, createdAt: delivered.createdAt + 1 }), "duplicate");

    (await stage.handOver(resting)).settle(retryIn(60_000));
    assert.equal(await outbox.add(resting), "duplicate");
  });
}
