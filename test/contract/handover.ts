import assert from "node:assert/strict";
import { KINDS } from "../../src/conversion/kinds.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import { idsOf, sample, withData } from "./samples.js";
import { type Handed, retryIn, type StageTests, until } from "./stage.js";

const ANY_TEXT = '\'; drop table "events"; -- \\ %s \u{1F600} \n\t ünïcödé ';

export function testHandover(it: StageTests): void {
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

  for (const kind of KINDS) {
    it(`sends a ${kind} as it was added, whatever its texts are`, async (stage) => {
      const added = withData(sample(kind), { customerName: ANY_TEXT });

      const { event, history, interrupted, queuedAt } = (await stage.handOver(added)).live;

      assert.deepEqual(
        { event, history: { ...history }, interrupted, queuedAt },
        { event: added, history: { ...UNTRIED }, interrupted: false, queuedAt: added.createdAt },
      );
    });
  }

  it("sends no more at once than there is capacity for, and the rest when it is woken", async (stage) => {
    const { delivery, outbox } = stage;
    const events = Array.from({ length: 5 }, () => sample("payment"));
    delivery.capacity = 2;
    stage.start();
    await stage.add(...events);

    const [first] = (await stage.take(2)) as [Handed];
    assert.equal(delivery.ids.length, 2);
    first.settle({ type: "delivered" });
    await delivery.next();
    assert.equal(delivery.ids.length, 3);
    delivery.capacity = 2;
    outbox.wake();
    await stage.take(2);

    assert.deepEqual(delivery.ids.toSorted(), idsOf(events).sort());
  });

  it("sends an event again after a retry, with the history that it was given, and says of each verdict that it has acted on it", async (stage) => {
    const { told } = stage.delivery;
    const event = sample("payment");
    const history = {
      attempts: 3,
      failures: 2,
      refusals: 1,
      throttled: true,
      maybeTaken: true,
      triedAt: 1_700_000_000_000,
    };
    const retry = { type: "retry", inMs: 5, history } as const;
    const delivered = { type: "delivered", leadId: 7 } as const;

    (await stage.handOver(event)).settle(retry);
    const { live, settle } = await stage.delivery.next();
    settle(delivered);

    assert.deepEqual({ ...live.history }, history);
    assert.equal(live.interrupted, false);
    assert.equal(live.queuedAt, event.createdAt);
    await until(() => told.length === 2, "nothing was said of a verdict");
    assert.deepEqual(told, [
      { id: event.id, attempts: 0, verdict: retry },
      { id: event.id, attempts: 3, verdict: delivered },
    ]);
    await stage.empty();
  });

  it("sends an event that was released again as it was, before later ones", async (stage) => {
    const [released, later] = [sample("payment"), sample("payment")];
    stage.delivery.capacity = 1;
    (await stage.handOver(released, later)).settle({ type: "release" });
    const again = await stage.delivery.next();
    assert.equal(again.id, released.id);
    assert.deepEqual({ ...again.live.history }, { ...UNTRIED });
    again.settle(retryIn(1, { attempts: 7 }));
    await stage.delivers(later);
    (await stage.delivery.next()).settle({ type: "release" });

    assert.equal((await stage.delivery.next()).live.history.attempts, 7);
  });

  it("counts what waits, rests, and is under way", async (stage) => {
    const { outbox, delivery } = stage;
    const [oldest, ...others] = [sample("click"), sample("payment"), sample("click")];
    assert.deepEqual(outbox.counts().oldest, null);
    delivery.capacity = 2;

    const first = await stage.handOver({ ...oldest, createdAt: oldest.createdAt - 5_000 }, ...others);
    first.settle(retryIn(60_000));
    await delivery.next();
    await stage.holds(3);

    const { queued, oldest: since, trouble } = outbox.counts();
    assert.deepEqual(
      { queued, since, trouble },
      { queued: 3, since: oldest.createdAt - 5_000, trouble: undefined },
    );
  });

  it("awaits what is under way when it is closed, and sends nothing more", async (stage) => {
    const { delivery } = stage;
    delivery.capacity = 1;
    const underWay = await stage.handOver(sample("payment"), sample("payment"));

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
