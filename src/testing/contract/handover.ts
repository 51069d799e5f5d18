import assert from "node:assert/strict";
import { UNTRIED } from "../../outbox/outbox.js";
import { retryIn, until } from "./recorder.js";
import { sample } from "./samples.js";
import { Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

export function testHandover(it: TestRunner["it"], { create }: OutboxUnderTest): void {
  for (const kind of ["click", "registration", "payment"] as const) {
    it(`hands a ${kind} over as it was added`, async () => {
      await using stage = await Stage.open(create);
      const event = sample(kind);
      stage.start();
      await stage.add(event);

      const { live } = await stage.delivery.next();

      assert.deepEqual(live.event, event);
      const { history, interrupted, queuedAt } = live;
      assert.deepEqual(
        { history: { ...history }, interrupted, queuedAt },
        { history: { ...UNTRIED }, interrupted: false, queuedAt: event.createdAt },
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

    assert.deepEqual((await stage.delivery.next()).live.event, odd);
  });

  it("hands over what was added before it was started", async () => {
    await using stage = await Stage.open(create);
    const event = sample("click");
    await stage.add(event);
    stage.start();

    assert.equal(await stage.delivery.deliverNext(), event.id);
    await stage.empty();
  });

  it("hands over no more at once than there is capacity for, and the rest when it is woken", async () => {
    await using stage = await Stage.open(create);
    const { delivery, outbox } = stage;
    const events = Array.from({ length: 5 }, () => sample("payment"));
    delivery.capacity = 2;
    stage.start();
    await stage.add(...events);

    const [first] = [await delivery.next(), await delivery.next()];
    assert.equal(delivery.ids.length, 2);
    first.settle({ type: "delivered" });
    await delivery.next();
    assert.equal(delivery.ids.length, 3);
    delivery.capacity = 2;
    outbox.wake();
    await delivery.next();
    await delivery.next();

    assert.deepEqual([...delivery.ids].sort(), events.map(({ id }) => id).sort());
  });

  it("hands an event over again after a retry, with the history that it was given", async () => {
    await using stage = await Stage.open(create);
    const event = sample("payment");
    const history = {
      attempts: 3,
      failures: 2,
      refusals: 1,
      throttled: true,
      maybeTaken: true,
      triedAt: 1_700_000_000_000,
    };
    stage.start();
    await stage.add(event);

    (await stage.delivery.next()).settle({ type: "retry", inMs: 5, history });
    const { live } = await stage.delivery.next();

    assert.deepEqual({ ...live.history }, history);
    assert.equal(live.interrupted, false);
    assert.equal(live.queuedAt, event.createdAt);
  });

  it("hands an event that was released over again as it was", async () => {
    await using stage = await Stage.open(create);
    stage.start();
    await stage.add(sample("payment"));

    (await stage.delivery.next()).settle({ type: "release" });
    const again = await stage.delivery.next();
    assert.deepEqual({ ...again.live.history }, { ...UNTRIED });
    again.settle(retryIn(1, { attempts: 7 }));
    (await stage.delivery.next()).settle({ type: "release" });

    assert.equal((await stage.delivery.next()).live.history.attempts, 7);
  });

  it("says so once it has acted on a verdict", async () => {
    await using stage = await Stage.open(create);
    const { delivery } = stage;
    const event = sample("payment");
    const retry = retryIn(1);
    const delivered = { type: "delivered" } as const;
    stage.start();
    await stage.add(event);

    (await delivery.next()).settle(retry);
    (await delivery.next()).settle(delivered);
    await until(() => delivery.told.length === 2, "nothing was said of a verdict");

    assert.deepEqual(delivery.told, [
      { id: event.id, attempts: 0, verdict: retry },
      { id: event.id, attempts: 1, verdict: delivered },
    ]);
    await stage.empty();
  });

  it("counts what waits, rests, and is under way", async () => {
    await using stage = await Stage.open(create);
    const { outbox, delivery } = stage;
    const [oldest, ...others] = [sample("click"), sample("payment"), sample("click")];
    assert.deepEqual(outbox.counts().oldest, null);
    delivery.capacity = 2;
    stage.start();
    await stage.add({ ...oldest, createdAt: oldest.createdAt - 5_000 }, ...others);

    (await delivery.next()).settle(retryIn(60_000));
    await delivery.next();

    await stage.holds(3);

    const { queued, oldest: since, trouble } = outbox.counts();
    assert.deepEqual(
      { queued, since, trouble },
      { queued: 3, since: oldest.createdAt - 5_000, trouble: undefined },
    );
  });

  it("awaits what is under way when it is closed, and hands nothing more over", async () => {
    await using stage = await Stage.open(create);
    const { delivery } = stage;
    delivery.capacity = 1;
    stage.start();
    await stage.add(sample("payment"), sample("payment"));
    const underWay = await delivery.next();

    let closed = false;
    const closing = stage.close().then(() => {
      closed = true;
    });
    await new Promise(setImmediate);
    assert.equal(closed, false);
    underWay.settle({ type: "delivered" });
    await closing;

    assert.equal(delivery.ids.length, 1);
    await stage.holds(1);
  });
}
