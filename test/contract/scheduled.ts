import assert from "node:assert/strict";
import { test } from "vitest";
import { notBeforeOf, type OutboxEvent } from "../../src/conversion/events.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import { fill } from "./bounds.js";
import { LONG_MS, sample, scheduledSample, stranger, withData } from "./samples.js";
import { type Handed, type Lasting, onTwoStages, Stage, type StageTests, until } from "./stage.js";

const SOME = 60;

/** Counts may be moments old. */
function schedules({ outbox }: Stage, count: number): Promise<void> {
  const found = () => outbox.counts().scheduled?.count;
  return until(
    () => found() === count,
    () => `\`counts().scheduled?.count\` was ${found()}, and not ${count},`,
  );
}

/** Calls `body` with a payment, and with another one if that took until it was due. Resolves to the last. */
async function beforeItIsDue(body: (payment: OutboxEvent) => Promise<void>): Promise<OutboxEvent> {
  for (let inMs = 500; ; inMs *= 2) {
    const payment = scheduledSample(inMs);
    await body(payment);
    // The clocks of a process and of its store need not run alike.
    if (Date.now() < (notBeforeOf(payment) as number) - 100) return payment;
  }
}

/** The next event of that one's visitor. Delivers those of others. */
async function nextOf({ delivery }: Stage, { data }: OutboxEvent): Promise<Handed> {
  for (;;) {
    const handed = await delivery.next();
    if (handed.live.event.data.sessionId === data.sessionId) return handed;
    handed.settle({ type: "delivered" });
  }
}

export function testScheduled(it: StageTests): void {
  it("counts what waits as queued, but not its age; holds back no event for it, and makes no event more urgent", async (stage) => {
    const visitor = stranger();
    const [late, early] = [scheduledSample(2 * LONG_MS, visitor), scheduledSample(LONG_MS)];
    const [click, registration] = [sample("click", visitor), sample("registration")];
    stage.hold();
    await stage.add(late, early);
    await schedules(stage, 2);

    const { queued, scheduled, oldest, byKind } = stage.outbox.counts();
    assert.deepEqual({ queued, oldest }, { queued: 2, oldest: null });
    assert.deepEqual({ ...scheduled }, { count: 2, next: notBeforeOf(early) });
    if (byKind) assert.deepEqual({ ...byKind.payment }, { queued: 2, oldest: null });

    await stage.add(click, registration);
    await stage.deliversOneByOne(registration, click);
    await stage.holds(2);
  });

  it("sends it once it is due, behind its visitor's other events, as if it had happened then", async (stage) => {
    stage.hold();
    let click = sample("click");
    const payment = await beforeItIsDue(async (payment) => {
      click = sample("click", payment.data);
      await stage.add(payment, click);
    });
    const due = notBeforeOf(payment) as number;
    await until(() => Date.now() > due, "it was not due");
    await schedules(stage, 0);
    stage.release();

    const first = await nextOf(stage, payment);
    assert.equal(first.id, click.id);
    first.settle({ type: "delivered" });
    const { event, history, interrupted, queuedAt } = (await nextOf(stage, payment)).live;

    assert.ok(Date.now() >= due);
    assert.deepEqual(
      { event, history: { ...history }, interrupted, queuedAt },
      { event: { ...payment, createdAt: due }, history: { ...UNTRIED }, interrupted: false, queuedAt: due },
    );
  });

  it("sends at once what is due already", async (stage) => {
    const payment = scheduledSample(-1_000);
    assert.equal((await stage.handOver(payment)).id, payment.id);
  });

  it("never sends a cancelled payment, and still knows it", async (stage) => {
    const { outbox } = stage;
    stage.start();
    const outcomes: string[] = [];
    const payment = await beforeItIsDue(async (payment) => {
      await stage.add(payment);
      const again = await outbox.add(payment);
      outcomes.splice(0, 3, again, await outbox.cancel(payment.id), await outbox.cancel(payment.id));
    });

    assert.deepEqual(outcomes, ["duplicate", "cancelled", "cancelled"]);
    assert.equal(await outbox.add(payment), "duplicate");
    const other = withData(sample("payment"), { notBefore: (notBeforeOf(payment) as number) + 1 });
    await stage.add(other);
    (await nextOf(stage, other)).settle({ type: "delivered" });
    await stage.empty();
    assert.equal(stage.delivery.ids.includes(payment.id), false);
  });

  it("cancels nothing that is queued, under way, delivered or dead, and knows no other", async (stage) => {
    const { outbox } = stage;
    const [delivered, dead, queued] = [scheduledSample(10), sample("payment"), sample("payment")];
    (await stage.handOver(delivered)).settle({ type: "delivered" });
    await stage.giveUp([dead]);
    stage.delivery.capacity = 1;
    const underWay = await stage.handOver(sample("payment"));
    await stage.add(queued);

    for (const { id } of [delivered, dead, underWay, queued]) assert.equal(await outbox.cancel(id), "sent");
    assert.equal(await outbox.cancel(sample("payment").id), "unknown");
    await stage.holds(2);
  });

  it("gives up one that the service refuses, and queues it again when asked", async (stage) => {
    const payment = scheduledSample(10);
    await stage.giveUp([payment]);

    assert.equal(await stage.outbox.deadLetters.retry(payment.id), true);

    await stage.delivers(payment);
  });
}

export function testScheduledWhenFull(it: StageTests): void {
  it("sheds clicks for it, and it for nothing", async (stage) => {
    const { dropped } = stage.delivery;
    stage.hold();
    await fill(stage.outbox, "click");
    for (let nth = 0; nth < SOME; nth++) await stage.add(scheduledSample(LONG_MS));
    assert.ok(dropped.length > 0, "no click was shed");

    await fill(stage.outbox, "payment");

    assert.deepEqual(new Set(dropped.map(({ event }) => event.kind)), new Set(["click"]));
    assert.equal(await stage.outbox.add(scheduledSample(LONG_MS)), "full");
    await schedules(stage, SOME);
  });
}

/** A next process, and two processes at the same time. */
export function testLastingSchedule({ create, reopen }: Lasting): void {
  const it = onTwoStages(create, reopen);

  test("the next process finds what waits, and sends what became due meanwhile", async () => {
    const [soon, later] = [scheduledSample(200), scheduledSample(2 * LONG_MS)];
    const cancelled = scheduledSample(LONG_MS);
    {
      await using stage = await Stage.open(create);
      stage.hold();
      await stage.add(soon, later, cancelled);
      assert.equal(await stage.outbox.cancel(cancelled.id), "cancelled");
    }
    await until(() => Date.now() > (notBeforeOf(soon) as number), "it was not due");

    await using stage = await Stage.open(reopen);
    stage.start();

    await stage.delivers(soon);
    await stage.holds(1);
    const next = () => stage.outbox.counts().scheduled?.next;
    await until(() => next() === notBeforeOf(later), "it was not counted when the next is due");
    assert.equal(await stage.outbox.add(later), "duplicate");
    assert.equal(await stage.outbox.cancel(cancelled.id), "cancelled");
    assert.equal(await stage.outbox.cancel(later.id), "cancelled");
  });

  it("each is claimed by one of two processes, and by none once one of them has cancelled it", async ([
    one,
    other,
  ]) => {
    const payments = Array.from({ length: 40 }, (_, nth) => scheduledSample(300 + nth));
    const gone: string[] = [];
    for (const stage of [one, other]) stage.deliverAll(gone);
    await one.add(...payments);
    const kept: string[] = [];
    for (const [nth, { id }] of payments.entries()) {
      if (nth % 4 || (await other.outbox.cancel(id)) === "sent") kept.push(id);
    }

    await until(() => gone.length >= kept.length, "payments were not handed over");
    await one.empty();
    assert.deepEqual(gone.sort(), kept.sort());
  });
}
