import assert from "node:assert/strict";
import type { OutboxEvent } from "../../events.js";
import type { Lane } from "../../outbox/outbox.js";
import type { Endpoint } from "../../service/endpoints.js";
import { retryIn, until } from "./recorder.js";
import { sample, stranger } from "./samples.js";
import { Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

const idsOf = (events: readonly OutboxEvent[]) => events.map(({ id }) => id);

const LONG_MS = 3_600_000;

export function testUrgency(it: TestRunner["it"], { create }: OutboxUnderTest): void {
  it("hands payments over first, then registrations, then clicks, and of each the oldest", async () => {
    await using stage = await Stage.open(create);
    const clicks = [sample("click"), sample("click")];
    const bySession = sample("registration", { sessionId: stranger().sessionId as string });
    const byClick = sample("registration");
    const payments = [sample("payment"), sample("payment", {})];
    await stage.add(...clicks, bySession, byClick, ...payments);
    stage.start();

    assert.deepEqual(await take(stage, 6), idsOf([...payments, byClick, bySession, ...clicks]));
  });

  it("hands a payment over before a thousand clicks that came before it", async () => {
    await using stage = await Stage.open(create);
    stage.delivery.capacity = 1;
    stage.start();
    const [first, ...others] = Array.from({ length: 1_001 }, () => sample("click"));
    await stage.add(first as OutboxEvent);
    const underWay = await stage.delivery.next();
    await Promise.all(others.map((event) => stage.add(event)));
    const payment = sample("payment");
    await stage.add(payment);

    underWay.settle({ type: "delivered" });

    assert.equal((await stage.delivery.next()).id, payment.id);
  });

  it("has a payment wait for its visitor's click, whatever is more urgent", async () => {
    await using stage = await Stage.open(create);
    const visitor = stranger();
    const [click, payment, other] = [sample("click", visitor), sample("payment", visitor), sample("payment")];
    await stage.add(click, payment, other);
    stage.delivery.capacity = 1;
    stage.start();

    assert.equal(await stage.delivery.deliverNext(), other.id);
    assert.equal(await stage.delivery.deliverNext(), click.id);
    assert.equal(await stage.delivery.deliverNext(), payment.id);
  });

  it("hands over nothing of an endpoint without a lane, and no more than a lane allows", async () => {
    await using stage = await Stage.open(create);
    const [payments, clicks] = [twice("payment"), [...twice("click"), sample("click")]];
    await stage.add(...payments, ...clicks);
    stage.delivery.lanes = [lane("click", { limit: 2 })];
    stage.start();

    assert.deepEqual(await take(stage, 2), idsOf(clicks.slice(0, 2)));
    stage.delivery.lanes = [lane("lead/payment")];
    stage.outbox.wake();
    assert.deepEqual(await take(stage, 2), idsOf(payments));
  });

  it("says for which lane it hands an event over", async () => {
    await using stage = await Stage.open(create);
    await stage.add(sample("registration"));
    stage.start();

    const { live } = await stage.delivery.next();

    const [asked] = stage.delivery.lanes.filter(({ endpoint }) => endpoint === "registration");
    assert.deepEqual(live.lane, asked);
  });

  it("hands the newest over first where a lane says so", async () => {
    await using stage = await Stage.open(create);
    const events = Array.from({ length: 5 }, () => sample("payment"));
    for (const event of events) await stage.add(event);
    stage.delivery.lanes = [lane("lead/payment", { newestFirst: true })];
    stage.delivery.capacity = 1;
    stage.start();

    const order: string[] = [];
    for (const _ of events) order.push(await stage.delivery.deliverNext());
    assert.deepEqual(order, idsOf(events).reverse());
  });

  it("hands those that were never tried over before those that were", async () => {
    await using stage = await Stage.open(create);
    const [tried, ...others] = [sample("click"), sample("click"), sample("click")] as const;
    await stage.add(tried);
    // One event takes the only slot, so no claim is under way when the lanes change.
    stage.delivery.capacity = 1;
    stage.start();
    const underWay = await stage.delivery.next();
    stage.delivery.lanes = [];
    underWay.settle(retryIn(0));
    await stage.add(...others);
    await until(() => stage.delivery.told.length === 1, "the retry was not acted on");

    stage.delivery.lanes = [lane("click")];
    stage.outbox.wake();
    const order = [await stage.delivery.deliverNext(), await stage.delivery.deliverNext()];
    assert.deepEqual(order, idsOf(others));
    assert.equal(await stage.delivery.deliverNext(), tried.id);
  });

  it("hands one that rests over where a lane asks for it, and no other is there", async () => {
    await using stage = await Stage.open(create);
    const [resting, fresh] = [sample("click"), sample("click")];
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(resting);
    const underWay = await stage.delivery.next();
    stage.delivery.lanes = [];
    underWay.settle(retryIn(LONG_MS));
    await stage.add(fresh);
    await until(() => stage.delivery.told.length === 1, "the retry was not acted on");

    stage.delivery.lanes = [lane("click", { newestFirst: true, evenResting: true, limit: 1 })];
    stage.outbox.wake();

    assert.equal(await stage.delivery.deliverNext(), fresh.id);
    assert.equal(await stage.delivery.deliverNext(), resting.id);
  });

  it("hands over newcomers alone where a lane asks for them", async () => {
    await using stage = await Stage.open(create);
    const [tried, old, newcomer] = [sample("click"), sample("click"), sample("click")];
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(tried);
    const underWay = await stage.delivery.next();
    stage.delivery.lanes = [];
    underWay.settle(retryIn(0));
    await stage.add({ ...old, createdAt: old.createdAt - LONG_MS }, newcomer);
    await until(() => stage.delivery.told.length === 1, "the retry was not acted on");

    stage.delivery.lanes = [lane("click", { newestFirst: true, newWithinMs: LONG_MS / 2 })];
    stage.outbox.wake();
    assert.equal(await stage.delivery.deliverNext(), newcomer.id);

    // A later event that is handed over shows that the others are kept back, and not just late.
    const payment = sample("payment");
    stage.delivery.lanes = [...stage.delivery.lanes, lane("lead/payment")];
    await stage.add(payment);
    assert.equal(await stage.delivery.deliverNext(), payment.id);
    await stage.holds(2);
  });

  it("hands an event over once where two lanes ask for it", async () => {
    await using stage = await Stage.open(create);
    const payments = [sample("payment"), sample("payment")];
    await stage.add(...payments);
    stage.delivery.lanes = [
      lane("lead/payment", { newestFirst: true, newWithinMs: LONG_MS }),
      lane("lead/payment", { evenResting: true }),
    ];
    stage.start();
    const taken = [await stage.delivery.next(), await stage.delivery.next()];
    assert.deepEqual(new Set(taken.map(({ id }) => id)), new Set(idsOf(payments)));

    // The event that is handed over after them shows that there was no third.
    const last = sample("payment");
    await stage.add(last);
    assert.equal(await stage.delivery.deliverNext(), last.id);
    for (const { settle } of taken) settle({ type: "delivered" });
    await stage.empty();
    assert.equal(stage.delivery.ids.length, 3);
  });

  it("is idle when nothing of what waits may be handed over, and not before", async () => {
    await using stage = await Stage.open(create);
    const { outbox, delivery } = stage;
    if (outbox.idle === undefined) return;
    delivery.lanes = [lane("click")];
    stage.start();
    await stage.add(sample("click"), sample("payment"));
    const underWay = await delivery.next();
    assert.equal(outbox.idle, false);

    underWay.settle(retryIn(LONG_MS));

    await until(() => outbox.idle === true, "it was not idle");
    await stage.holds(2);
    delivery.lanes = [lane("lead/payment")];
    outbox.wake();
    assert.equal(outbox.idle, false);
    await delivery.deliverNext();
  });

  it("keeps 100 clicks of a visitor, and drops that visitor's oldest for a new one", async () => {
    await using stage = await Stage.open(create);
    const { sessionId } = stranger();
    const clickOfVisitor = () =>
      sample("click", { clickId: stranger().clickId as string, sessionId: sessionId as string });
    const other = sample("click");
    stage.delivery.capacity = 0;
    stage.start();
    await stage.add(other);
    const clicks = Array.from({ length: 103 }, clickOfVisitor);
    for (const click of clicks) await stage.add(click);
    await stage.add(sample("payment", { sessionId: sessionId as string }));

    await until(() => stage.delivery.dropped.length === 3, "not three clicks were dropped");
    const dropped = stage.delivery.dropped.map(({ event: { id }, reason }) => ({ id, reason }));
    assert.deepEqual(
      dropped,
      clicks.slice(0, 3).map(({ id }) => ({ id, reason: "visitor-full" })),
    );
    await stage.holds(102);
    // Forgotten as well: reported again, it is no duplicate.
    assert.equal(await stage.outbox.add(clicks[0] as OutboxEvent), "queued");
  });
}

function lane(endpoint: Endpoint, rules: Partial<Lane> = {}): Lane {
  return { endpoint, limit: Number.POSITIVE_INFINITY, ...rules };
}

function twice(kind: "click" | "payment"): OutboxEvent[] {
  return [sample(kind), sample(kind)];
}

async function take(stage: Stage, number: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < number) ids.push((await stage.delivery.next()).id);
  return ids;
}
