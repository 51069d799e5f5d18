import assert from "node:assert/strict";
import type { OutboxEvent } from "../../src/conversion/events.js";
import { UNTRIED } from "../../src/outbox/claim.js";
import type { DeadLetterFilter, DeadLetterQuery } from "../../src/outbox/dead-letters.js";
import { until } from "./recorder.js";
import { idsOf, sample, stranger, withData } from "./samples.js";
import { REJECTED, type StageTests } from "./stage.js";

export function testDeadLetters(it: StageTests): void {
  it("keeps what was given up, with all that is known of it", async (stage) => {
    const { deadLetters } = stage.outbox;
    const event = sample("registration");
    const before = Date.now();
    await stage.giveUp([event]);

    const [letter, ...others] = await deadLetters.list();

    assert.equal(others.length, 0);
    assert.ok(letter);
    const { diedAt, ...rest } = letter;
    assert.ok(diedAt >= before && diedAt <= Date.now());
    const { id, destination, kind, data, createdAt } = event;
    assert.deepEqual(rest, { id, destination, kind, event: data, createdAt, ...REJECTED });
    assert.deepEqual(stage.outbox.counts().dead, { rejected: 1, unconfirmed: 0, expired: 0 });
    await stage.empty();
  });

  it("lists those of a kind, and of a reason, or one, the oldest first, and no more than it was asked for", async (stage) => {
    const { deadLetters } = stage.outbox;
    const [click, held, rejected] = [sample("click"), sample("payment"), sample("payment")];
    await stage.giveUp([click, rejected]);
    await stage.giveUp([held], { ...REJECTED, reason: "unconfirmed" });
    const listed = async (query: DeadLetterQuery) => idsOf(await deadLetters.list(query));

    assert.deepEqual(await listed({ kind: "payment" }), [rejected.id, held.id]);
    assert.deepEqual(await listed({ reason: "rejected" }), [click.id, rejected.id]);
    assert.deepEqual(await listed({ kind: "payment", reason: "unconfirmed" }), [held.id]);
    assert.deepEqual(await listed({ limit: 2 }), [click.id, rejected.id]);
    assert.deepEqual(await listed({ kind: "payment", limit: 1 }), [rejected.id]);
    assert.deepEqual(await listed({ kind: "registration" }), []);
    assert.deepEqual(await listed({ id: held.id }), [held.id]);
    assert.deepEqual(await listed({ id: held.id, reason: "rejected" }), []);
    assert.deepEqual(await listed({ id: sample("click").id }), []);
  });

  it("counts and sums by kind and reason what it lists", async (stage) => {
    const { deadLetters } = stage.outbox;
    const payments = [19.9, 0.1, 5].map((leadValue) => withData(sample("payment"), { leadValue }));
    await stage.giveUp([sample("click"), ...payments.slice(0, 2)]);
    await stage.giveUp(payments.slice(2), { ...REJECTED, reason: "unconfirmed" });
    const summed = async (filter?: DeadLetterFilter) =>
      (await deadLetters.sums(filter))
        .map(({ kind, reason, count, amount }) => `${kind} ${reason} ${count} ${amount.toFixed(2)}`)
        .sort();

    const held = "payment unconfirmed 1 5.00";
    assert.deepEqual(await summed(), ["click rejected 1 0.00", "payment rejected 2 20.00", held]);
    assert.deepEqual(await summed({ kind: "payment" }), ["payment rejected 2 20.00", held]);
    assert.deepEqual(await summed({ reason: "unconfirmed" }), [held]);
    assert.deepEqual(await summed({ kind: "registration" }), []);
  });

  it("queues all of a kind again, and the unconfirmed ones only if their reason is named", async (stage) => {
    const { deadLetters } = stage.outbox;
    const [click, held, rejected] = [sample("click"), sample("payment"), sample("payment")];
    await stage.giveUp([click, rejected]);
    await stage.giveUp([held], { ...REJECTED, reason: "unconfirmed" });

    assert.equal(await deadLetters.retryAll({ kind: "click" }), 1);
    await stage.delivers(click);
    assert.equal(await deadLetters.retryAll(), 1);
    await stage.delivers(rejected);
    assert.equal(await deadLetters.retryAll({ kind: "payment" }), 0);
    assert.equal(await deadLetters.retryAll({ kind: "click", reason: "unconfirmed" }), 0);
    assert.equal(await deadLetters.retryAll({ reason: "unconfirmed" }), 1);
    await stage.delivers(held);
  });

  for (const { reason, isInDoubt } of [
    { reason: "rejected", isInDoubt: false },
    { reason: "unconfirmed", isInDoubt: true },
  ] as const) {
    it(`queues one that was ${reason} again as the last of its visitor's, as if new but for what is in doubt`, async (stage) => {
      const { outbox, delivery } = stage;
      const visitor = stranger();
      const [dead, later] = [sample("payment", visitor), sample("payment", visitor)];
      await stage.giveUp([dead], { ...REJECTED, reason, attempts: 3 });
      const underWay = await stage.handOver(later);
      const before = Date.now();

      assert.equal(await outbox.deadLetters.retry(dead.id), true);
      underWay.settle({ type: "delivered" });
      const { event, history, interrupted, queuedAt } = (await delivery.next()).live;

      assert.deepEqual(event, dead);
      assert.deepEqual({ ...history }, { ...UNTRIED, maybeTaken: isInDoubt });
      assert.equal(interrupted, false);
      assert.ok(queuedAt >= before);
      assert.deepEqual(await outbox.deadLetters.list(), []);
      await until(() => outbox.counts().dead[reason] === 0, "one that was queued again was counted");
    });
  }

  it("queues all of them again in the order in which they happened", async (stage) => {
    const visitor = stranger();
    const events = [3, 1, 2].map((nth) => ({ ...sample("payment", visitor), createdAt: nth }));
    await stage.giveUp(events);

    assert.equal(await stage.outbox.deadLetters.retryAll(), 3);

    await stage.delivers(...events.sort((one, other) => one.createdAt - other.createdAt));
    assert.equal(await stage.outbox.deadLetters.retryAll(), 0);
  });

  it("forgets one that is discarded, but not its event, and knows none that it does not have", async (stage) => {
    const { outbox } = stage;
    const { deadLetters } = outbox;
    const [event, live] = [sample("payment"), sample("payment")];
    await stage.giveUp([event]);
    await stage.add(live);

    assert.equal(await outbox.add(event), "duplicate");
    assert.equal(await deadLetters.discard(event.id), true);
    assert.equal(await outbox.add(event), "duplicate");
    assert.equal(await deadLetters.discard(event.id), false);
    assert.equal(await deadLetters.retry(event.id), false);
    assert.equal(await deadLetters.discard(live.id), false);
    assert.equal(await deadLetters.retry(live.id), false);
    await until(() => outbox.counts().dead.rejected === 0, "a discarded dead letter was counted");
  });
}

export function testEviction(it: StageTests, maxDeadLetters: number): void {
  it("drops the oldest of the dead letters that matter least when there are too many, and still knows its event", async (stage) => {
    const { outbox, delivery } = stage;
    const events = Array.from({ length: maxDeadLetters }, () => sample("payment"));
    await stage.giveUp(events);
    (await stage.handOver(sample("payment"))).settle({ type: "dead", ...REJECTED });

    await until(() => delivery.dropped.length === 1, "no dead letter was dropped");
    const [oldest] = events as [OutboxEvent];
    assert.deepEqual({ ...delivery.dropped[0] }, { event: oldest, reason: "dead-letters-full" });
    assert.equal(await outbox.deadLetters.retry(oldest.id), false);
    assert.equal(await outbox.add(oldest), "duplicate");
    await until(
      () => outbox.counts().dead.rejected === maxDeadLetters,
      "the dead letter that was dropped was counted",
    );
  });

  it("drops no registration for a click, and no payment for either", async (stage) => {
    const { outbox, delivery } = stage;
    const payments = Array.from({ length: maxDeadLetters - 1 }, () => sample("payment"));
    const [registration, click, another] = [sample("registration"), sample("click"), sample("payment")];
    await stage.giveUp([registration, ...payments]);

    (await stage.handOver(click)).settle({ type: "dead", ...REJECTED });
    await until(() => delivery.dropped.length === 1, "no dead letter was dropped");
    (await stage.handOver(another)).settle({ type: "dead", ...REJECTED });
    await until(() => delivery.dropped.length === 2, "no dead letter was dropped");

    assert.deepEqual(
      delivery.dropped.map(({ event }) => event),
      [click, registration],
    );
    const left = await outbox.deadLetters.list({ limit: maxDeadLetters });
    assert.deepEqual(new Set(left.map(({ kind }) => kind)), new Set(["payment"]));
    assert.equal(left.length, maxDeadLetters);
    assert.equal(await outbox.add(click), "duplicate");
  });
}
