import assert from "node:assert/strict";
import { idsOf, LONG_MS, lane, sample, stranger } from "./samples.js";
import { retryIn, type StageTests, until } from "./stage.js";

export function testUrgency(it: StageTests): void {
  it("sends payments first, then registrations, then clicks, and of each the oldest", async (stage) => {
    const clicks = [sample("click"), sample("click")];
    const bySession = sample("registration", { sessionId: stranger().sessionId });
    const byClick = sample("registration");
    const payments = [sample("payment"), sample("payment", {})];
    await stage.add(...clicks, bySession, byClick, ...payments);
    stage.start();

    assert.deepEqual(idsOf(await stage.take(6)), idsOf([...payments, byClick, bySession, ...clicks]));
  });

  it("sends nothing of an endpoint without a lane, no more than a lane allows, and says for which it sends", async (stage) => {
    const payments = [sample("payment"), sample("payment")];
    const clicks = [sample("click"), sample("click")];
    await stage.add(...payments, ...clicks, sample("click"));
    stage.delivery.lanes = [lane("registration"), lane("click", { limit: 2 })];
    stage.start();

    const taken = await stage.take(2);
    assert.deepEqual(idsOf(taken), idsOf(clicks));
    for (const { live } of taken) assert.deepEqual(live.lane, lane("click", { limit: 2 }));
    stage.delivery.lanes = [lane("lead/payment")];
    stage.outbox.wake();
    assert.deepEqual(idsOf(await stage.take(2)), idsOf(payments));
  });

  it("sends the newest first if a lane says so", async (stage) => {
    const events = Array.from({ length: 5 }, () => sample("payment"));
    await stage.add(...events);
    stage.delivery.lanes = [lane("lead/payment", { newestFirst: true })];

    await stage.deliversOneByOne(...events.reverse());
  });

  it("sends new events alone if a lane asks for them", async (stage) => {
    const [tried, old, newEvent] = [sample("click"), sample("click"), sample("click")];
    await stage.tries(retryIn(0), tried);
    await stage.add({ ...old, createdAt: old.createdAt - LONG_MS }, newEvent);

    stage.delivery.lanes = [lane("click", { newestFirst: true, newWithinMs: LONG_MS / 2 })];
    await stage.deliversOneByOne(newEvent);

    // Sent later: so the others are kept back, and not just late.
    const payment = sample("payment");
    stage.delivery.lanes = [...stage.delivery.lanes, lane("lead/payment")];
    await stage.add(payment);
    await stage.delivers(payment);
    await stage.holds(2);
  });

  it("sends an event once if two lanes ask for it", async (stage) => {
    const payments = [sample("payment"), sample("payment")];
    await stage.add(...payments);
    stage.delivery.lanes = [
      lane("lead/payment", { newestFirst: true, newWithinMs: LONG_MS }),
      lane("lead/payment"),
      lane("click"),
    ];
    stage.start();
    const taken = await stage.take(2);
    assert.deepEqual(new Set(idsOf(taken)), new Set(idsOf(payments)));

    // The event that is sent after them shows that there was no third.
    await stage.deliversStranger();
    for (const { settle } of taken) settle({ type: "delivered" });
    await stage.empty();
    assert.equal(stage.delivery.ids.length, 3);
  });

  it("fills a lane with further untried events if another lane has taken its first ones", async (stage) => {
    await stage.tries(retryIn(0), sample("click"));
    const clicks = Array.from({ length: 5 }, () => sample("click"));
    await stage.add(...clicks);
    const newest = { newestFirst: true };
    stage.delivery.lanes = [
      lane("click", { ...newest, newWithinMs: LONG_MS, limit: 3 }),
      lane("click", { ...newest, limit: 1 }),
    ];
    stage.delivery.capacity = 4;
    stage.outbox.wake();

    assert.deepEqual(idsOf(await stage.take(4)), idsOf(clicks.reverse().slice(0, 4)));
  });

  it("is idle when nothing of what waits may be sent, and not before", async (stage) => {
    const { outbox, delivery } = stage;
    if (outbox.idle === undefined) return;
    delivery.lanes = [lane("click")];
    const underWay = await stage.handOver(sample("click"), sample("payment"));
    assert.equal(outbox.idle, false);

    underWay.settle(retryIn(LONG_MS));

    await until(() => outbox.idle === true, "it was not idle");
    await stage.holds(2);
    delivery.lanes = [lane("lead/payment")];
    outbox.wake();
    assert.equal(outbox.idle, false);
    await delivery.deliverNext();
  });
}
