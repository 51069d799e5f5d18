import assert from "node:assert/strict";
import { sample, stranger } from "./samples.js";
import { Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

/** The tests of a store that cannot be reached. */
export function testCutOff(
  it: TestRunner["it"],
  { create, cutOff, restore }: OutboxUnderTest & Required<Pick<OutboxUnderTest, "cutOff" | "restore">>,
): void {
  async function open(): Promise<Stage> {
    const stage = await Stage.open(create);
    stage.delivery.expectsFailures = true;
    stage.start();
    return stage;
  }

  it("rejects nothing while its store is cut off, and loses nothing of it", async () => {
    await using stage = await open();
    const before = sample("payment");
    await stage.add(before);
    await stage.delivery.deliverNext();
    await stage.empty();
    const events = [sample("click"), sample("registration"), sample("payment"), sample("payment")];

    await cutOff();
    try {
      await Promise.all(events.map((event) => stage.add(event)));
    } finally {
      await restore();
    }

    const ids: string[] = [];
    for (const _ of events) ids.push(await stage.delivery.deliverNext());
    assert.deepEqual(ids.sort(), events.map(({ id }) => id).sort());
    await stage.empty();
    for (const event of [before, ...events]) assert.equal(await stage.outbox.add(event), "duplicate");
  });

  it("keeps a visitor's order across a reconnect, and delivers once what was under way meanwhile", async () => {
    await using stage = await open();
    const visitor = stranger();
    const events = [sample("click", visitor), sample("registration", visitor), sample("payment", visitor)];
    const [first, ...others] = events as [(typeof events)[0], ...typeof events];
    await stage.add(first);
    const underWay = await stage.delivery.next();

    await cutOff();
    try {
      for (const event of others) await stage.add(event);
      underWay.settle({ type: "delivered" });
    } finally {
      await restore();
    }

    for (const { id } of others) assert.equal(await stage.delivery.deliverNext(), id);
    await stage.empty();
    assert.deepEqual(
      stage.delivery.ids,
      events.map(({ id }) => id),
    );
  });
}
