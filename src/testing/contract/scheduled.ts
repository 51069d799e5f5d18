import assert from "node:assert/strict";
import { notBeforeOf } from "../../events.js";
import { UNTRIED } from "../../outbox/outbox.js";
import { fill } from "./bounds.js";
import { until } from "./recorder.js";
import { sample, scheduledSample, stranger } from "./samples.js";
import { REJECTED, Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

const HOUR_MS = 3_600_000;
const SOME = 60;

/** Resolves once so many payments are scheduled. Counts may be moments old. */
function schedules({ outbox }: Stage, count: number): Promise<void> {
  return until(() => outbox.counts().scheduled?.count === count, `not ${count} payments were scheduled`);
}

async function cancel({ outbox }: Stage, id: string): Promise<string> {
  assert.ok(outbox.cancel, "the outbox has cancel");
  return outbox.cancel(id);
}

export function testScheduled(it: TestRunner["it"], { create, createSmall }: OutboxUnderTest): void {
  it("a payment that waits holds back no event and lends no urgency", async () => {
    await using stage = await Stage.open(create);
    const visitor = stranger();
    const [payment, click] = [scheduledSample(HOUR_MS, visitor), sample("click", visitor)];
    const registration = sample("registration");
    stage.hold();
    await stage.add(payment, click, registration);
    await stage.holds(3);

    stage.delivery.capacity = 1;
    stage.outbox.wake();

    assert.equal(await stage.delivery.deliverNext(), registration.id);
    assert.equal(await stage.delivery.deliverNext(), click.id);
    await stage.holds(1);
  });

  it("counts it as queued, says when it is due, and does not count its age", async () => {
    await using stage = await Stage.open(create);
    const [late, early] = [scheduledSample(2 * HOUR_MS), scheduledSample(HOUR_MS)];
    stage.start();
    await stage.add(late, early);
    await schedules(stage, 2);

    const { queued, scheduled, oldest, byKind } = stage.outbox.counts();

    assert.deepEqual({ queued, oldest }, { queued: 2, oldest: null });
    assert.deepEqual({ ...scheduled }, { count: 2, next: notBeforeOf(early) });
    if (byKind) assert.deepEqual({ ...byKind.payment }, { queued: 2, oldest: null });
  });

  it("hands it over once it is due, behind its visitor's other events, as if it had happened then", async () => {
    await using stage = await Stage.open(create);
    const visitor = stranger();
    const [payment, click] = [scheduledSample(300, visitor), sample("click", visitor)];
    const due = notBeforeOf(payment) as number;
    stage.hold();
    await stage.add(payment, click);
    await until(() => Date.now() > due, "it was not due");
    await schedules(stage, 0);
    stage.release();

    assert.equal(await stage.delivery.deliverNext(), click.id);
    const { live } = await stage.delivery.next();

    assert.ok(Date.now() >= due);
    assert.deepEqual({ ...live.event }, { ...payment, createdAt: due });
    assert.equal(live.queuedAt, due);
    assert.deepEqual({ ...live.history }, UNTRIED);
    assert.equal(live.interrupted, false);
  });

  it("hands over at once what is due already", async () => {
    await using stage = await Stage.open(create);
    stage.start();
    const payment = scheduledSample(-1_000);
    await stage.add(payment);

    assert.equal(await stage.delivery.deliverNext(), payment.id);
  });

  it("never hands over a cancelled payment, and still knows it", async () => {
    await using stage = await Stage.open(create);
    const [payment, other] = [scheduledSample(2_000), scheduledSample(2_001)];
    stage.start();
    await stage.add(payment, other);
    assert.equal(await stage.outbox.add(payment), "duplicate");

    assert.equal(await cancel(stage, payment.id), "cancelled");
    assert.equal(await cancel(stage, payment.id), "cancelled");

    assert.equal(await stage.outbox.add(payment), "duplicate");
    assert.equal(await stage.delivery.deliverNext(), other.id);
    await stage.empty();
    assert.deepEqual(stage.delivery.ids, [other.id]);
  });

  it("cancels nothing that is queued, under way, delivered or dead, and knows no other", async () => {
    await using stage = await Stage.open(create);
    const [delivered, dead, queued] = [scheduledSample(10), sample("payment"), sample("payment")];
    stage.start();
    await stage.add(delivered);
    await stage.delivery.deliverNext();
    await stage.giveUp([dead]);
    stage.delivery.capacity = 1;
    const underWay = sample("payment");
    await stage.add(underWay);
    await stage.delivery.next();
    await stage.add(queued);

    for (const { id } of [delivered, dead, underWay, queued]) assert.equal(await cancel(stage, id), "sent");
    assert.equal(await cancel(stage, sample("payment").id), "unknown");
    await stage.holds(2);
  });

  it("gives up one that the service refuses, and queues it again when asked", async () => {
    await using stage = await Stage.open(create);
    const payment = scheduledSample(10);
    await stage.giveUp([payment], REJECTED);

    assert.equal(await stage.outbox.deadLetters.retry(payment.id), true);

    assert.equal(await stage.delivery.deliverNext(), payment.id);
  });

  if (!createSmall) return;
  it("sheds clicks for it, and it for nothing", async () => {
    await using stage = await Stage.open(createSmall);
    const { dropped } = stage.delivery;
    stage.hold();
    await fill(stage.outbox, "click");
    for (let nth = 0; nth < SOME; nth++) await stage.add(scheduledSample(HOUR_MS));
    assert.ok(dropped.length > 0, "no click was shed");

    await fill(stage.outbox, "payment");

    assert.deepEqual(new Set(dropped.map(({ event }) => event.kind)), new Set(["click"]));
    assert.equal(await stage.outbox.add(scheduledSample(HOUR_MS)), "full");
    await schedules(stage, SOME);
  });
}

/** A next process, and two processes at the same time. */
export function testLastingSchedule(
  it: TestRunner["it"],
  { create, reopen }: Required<Pick<OutboxUnderTest, "create" | "reopen">>,
): void {
  it("the next process finds what waits, and hands over what became due meanwhile", async () => {
    const [soon, later] = [scheduledSample(200), scheduledSample(2 * HOUR_MS)];
    const cancelled = scheduledSample(HOUR_MS);
    {
      await using stage = await Stage.open(create);
      stage.hold();
      await stage.add(soon, later, cancelled);
      assert.equal(await cancel(stage, cancelled.id), "cancelled");
    }
    await until(() => Date.now() > (notBeforeOf(soon) as number), "it was not due");

    await using stage = await Stage.open(reopen);
    stage.start();

    assert.equal(await stage.delivery.deliverNext(), soon.id);
    await stage.holds(1);
    const next = () => stage.outbox.counts().scheduled?.next;
    await until(() => next() === notBeforeOf(later), "it was not counted when the next is due");
    assert.equal(await stage.outbox.add(later), "duplicate");
    assert.equal(await cancel(stage, cancelled.id), "cancelled");
    assert.equal(await cancel(stage, later.id), "cancelled");
  });

  it("each is handed over to one of two processes, and to none once one of them has cancelled it", async () => {
    await using one = await Stage.open(create);
    await using other = await Stage.open(reopen);
    const payments = Array.from({ length: 40 }, (_, nth) => scheduledSample(300 + nth));
    const gone: string[] = [];
    for (const stage of [one, other]) {
      stage.delivery.each(({ id, settle }) => {
        gone.push(id);
        settle({ type: "delivered" });
      });
      stage.start();
    }
    await one.add(...payments);
    const kept: string[] = [];
    for (const [nth, { id }] of payments.entries()) {
      if (nth % 4 || (await cancel(other, id)) === "sent") kept.push(id);
    }

    await until(() => gone.length >= kept.length, "payments were not handed over");
    await one.empty();
    assert.deepEqual(gone.sort(), kept.sort());
  });
}
