import assert from "node:assert/strict";
import { until } from "./hands.js";
import type { OutboxUnderTest, TestRunner } from "./index.js";
import { sample } from "./samples.js";
import { Stage } from "./stage.js";

export function testHandover(it: TestRunner["it"], { create }: OutboxUnderTest): void {
  for (const kind of ["click", "registration", "payment"] as const) {
    it(`hands a ${kind} over as it was added`, async () => {
      await using stage = await Stage.open(create);
      const event = sample(kind);
      stage.start();
      await stage.add(event);

      const { live } = await stage.hands.next();

      assert.deepEqual(live.event, event);
      const { attempts, maybeTaken, interrupted, queuedAt } = live;
      assert.deepEqual(
        { attempts, maybeTaken, interrupted, queuedAt },
        { attempts: 0, maybeTaken: false, interrupted: false, queuedAt: event.createdAt },
      );
    });
  }

  it("keeps a text as it is, whatever is in it", async () => {
    await using stage = await Stage.open(create);
    const event = sample("registration");
    const name = '\'; drop table "events"; -- \\ %s \u{1F600} \n\t ünïcödé ';
    const odd = { ...event, data: { ...event.data, customerName: name } } as typeof event;
    stage.start();
    await stage.add(odd);

    assert.deepEqual((await stage.hands.next()).live.event, odd);
  });

  it("hands over what was added before it was started", async () => {
    await using stage = await Stage.open(create);
    const event = sample("click");
    await stage.add(event);
    stage.start();

    assert.equal(await stage.hands.deliverNext(), event.id);
    await stage.empty();
  });

  it("hands over no more at once than there is room for, and the rest when it is woken", async () => {
    await using stage = await Stage.open(create);
    const { hands, outbox } = stage;
    const events = Array.from({ length: 5 }, () => sample("payment"));
    hands.room = 2;
    stage.start();
    await stage.add(...events);

    const [first] = [await hands.next(), await hands.next()];
    assert.equal(hands.ids.length, 2);
    first.settle({ is: "delivered" });
    await hands.next();
    assert.equal(hands.ids.length, 3);
    hands.room = 2;
    outbox.wake();
    await hands.next();
    await hands.next();

    assert.deepEqual([...hands.ids].sort(), events.map(({ id }) => id).sort());
  });

  it("tries an event again after a retry, and counts the attempts", async () => {
    await using stage = await Stage.open(create);
    const event = sample("payment");
    stage.start();
    await stage.add(event);

    (await stage.hands.next()).settle({ is: "retry", inMs: 5, maybeTaken: false });
    const second = await stage.hands.next();
    assert.equal(second.live.attempts, 1);
    assert.equal(second.live.maybeTaken, false);
    second.settle({ is: "retry", inMs: 5, maybeTaken: true });
    const third = await stage.hands.next();
    assert.equal(third.live.attempts, 2);
    assert.equal(third.live.maybeTaken, true);
    assert.equal(third.live.interrupted, false);
    assert.equal(third.live.queuedAt, event.createdAt);
  });

  it("hands a kept event over again, and counts no attempt", async () => {
    await using stage = await Stage.open(create);
    stage.start();
    await stage.add(sample("payment"));

    (await stage.hands.next()).settle({ is: "kept", maybeTaken: true });
    const { live } = await stage.hands.next();

    assert.equal(live.attempts, 0);
    assert.equal(live.maybeTaken, true);
  });

  it("says so once it has acted on a verdict", async () => {
    await using stage = await Stage.open(create);
    const { outbox, hands } = stage;
    stage.start();
    await stage.add(sample("payment"), sample("payment"));
    const retry = { is: "retry", inMs: 60_000, maybeTaken: false } as const;
    const delivered = { is: "delivered" } as const;

    (await hands.next()).settle(retry);
    (await hands.next()).settle(delivered);
    await until(() => hands.told.length === 2, "nothing was said of a verdict");

    assert.ok(hands.told.includes(retry) && hands.told.includes(delivered));
    assert.equal(outbox.counts().queued, 1);
  });

  it("counts what waits, rests, and is under way", async () => {
    await using stage = await Stage.open(create);
    const { outbox, hands } = stage;
    const [oldest, ...others] = [sample("click"), sample("payment"), sample("click")];
    assert.deepEqual(outbox.counts().oldest, null);
    hands.room = 2;
    stage.start();
    await stage.add({ ...oldest, createdAt: oldest.createdAt - 5_000 }, ...others);

    (await hands.next()).settle({ is: "retry", inMs: 60_000, maybeTaken: false });
    await hands.next();

    const { queued, oldest: since, trouble } = outbox.counts();
    assert.deepEqual(
      { queued, since, trouble },
      { queued: 3, since: oldest.createdAt - 5_000, trouble: undefined },
    );
  });

  it("awaits what is under way when it is closed, and hands nothing more over", async () => {
    await using stage = await Stage.open(create);
    const { outbox, hands } = stage;
    hands.room = 1;
    stage.start();
    await stage.add(sample("payment"), sample("payment"));
    const underWay = await hands.next();

    let closed = false;
    const closing = stage.close().then(() => {
      closed = true;
    });
    await new Promise(setImmediate);
    assert.equal(closed, false);
    underWay.settle({ is: "delivered" });
    await closing;

    assert.equal(hands.ids.length, 1);
    assert.equal(outbox.counts().queued, 1);
  });
}
