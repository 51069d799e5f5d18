import assert from "node:assert/strict";
import { idsOf, paying, sample } from "./samples.js";
import type { OutboxUnderTest, Stage, StageTests } from "./stage.js";

/** The tests of a store that cannot be reached. */
export function testCutOff(
  it: StageTests,
  { cutOff, restore }: Required<Pick<OutboxUnderTest, "cutOff" | "restore">>,
): void {
  async function whileCutOff({ delivery }: Stage, happens: () => Promise<unknown>): Promise<void> {
    delivery.expectsFailures = true;
    await cutOff();
    try {
      await happens();
    } finally {
      await restore();
    }
  }

  it("rejects nothing while its store is cut off, and loses nothing of it", async (stage) => {
    const before = sample("payment");
    (await stage.handOver(before)).settle({ type: "delivered" });
    await stage.empty();
    const events = [sample("click"), sample("registration"), sample("payment"), sample("payment")];

    await whileCutOff(stage, () => Promise.all(events.map((event) => stage.add(event))));

    const taken = await stage.take(events.length);
    assert.deepEqual(idsOf(taken).sort(), idsOf(events).sort());
    for (const { settle } of taken) settle({ type: "delivered" });
    await stage.empty();
    for (const event of [before, ...events]) assert.equal(await stage.outbox.add(event), "duplicate");
  });

  it("keeps a visitor's order across a reconnect, and delivers once what was under way meanwhile", async (stage) => {
    const [first, ...others] = paying();
    const underWay = await stage.handOver(first);

    await whileCutOff(stage, async () => {
      await stage.add(...others);
      underWay.settle({ type: "delivered" });
    });

    await stage.delivers(...others);
    await stage.empty();
    assert.deepEqual(stage.delivery.ids, idsOf([first, ...others]));
  });
}
