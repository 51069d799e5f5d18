import assert from "node:assert/strict";
import type { OutboxEvent } from "../../src/conversion/events.js";
import type { DeadLetterFilter, DeadLetterQuery } from "../../src/outbox/dead-letters.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import { idsOf, sample, stranger, withData } from "./samples.js";
import { REJECTED, type StageTests, until } from "./stage.js";

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

  it("lists, counts and sums those of a kind, of a reason, or one, the oldest first", async (stage) => {
    const { deadLetters } = stage.outbox;
    const click = sample("click");
    const payments = [19.9, 0.1, 5].map((leadValue) => withData(sample("payment"), { leadValue }));
    const [first, second, held] = payments as [OutboxEvent, OutboxEvent, OutboxEvent];
    await stage.giveUp([click, first, second]);
    await stage.giveUp([held], { ...REJECTED, reason: "unconfirmed" });
    const listed = async (query: DeadLetterQuery) => idsOf(await deadLetters.list(query));
    const summed = async (filter?: DeadLetterFilter) =>
      (await deadLetters.sums(filter))
        .map(({ kind, reason, count, amount }) => `${kind} ${reason} ${count} ${amount.toFixed(2)}`)
        .sort();

    assert.deepEqual(await listed({ kind: "payment" }), idsOf(payments));
    assert.deepEqual(await listed({ reason: "rejected" }), idsOf([click, first, second]));
    assert.deepEqual(await listed({ kind: "payment", reason: "unconfirmed" }), [held.id]);
    assert.deepEqual(await listed({ limit: 2 }), [click.id, first.id]);
    assert.deepEqual(await listed({ kind: "payment", limit: 1 }), [first.id]);
    assert.deepEqual(await listed({ kind: "registration" }), []);
    assert.deepEqual(await listed({ id: held.id }), [held.id]);
    assert.deepEqual(await listed({ id: held.id, reason: "rejected" }), []);
    assert.deepEqual(await listed({ id: sample("click").id }), []);

    const sumOfHeld = "payment unconfirmed 1 5.00";
    assert.deepEqual(await summed(), ["click rejected 1 0.00", "payment rejected 2 20.00", sumOfHeld]);
    assert.deepEqual(await summed({ kind: "payment" }), ["payment rejected 2 20.00", sumOfHeld]);
    assert.deepEqual(await summed({ reason: "unconfirmed" }), [sumOfHeld]);
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
  it("drops clicks first, then registrations, and of a kind the oldest, if there are too many, and still knows them", async (stage) => {
    const { outbox, delivery } = stage;
    const payments = Array.from({ length: maxDeadLetters - 1 }, () => sample("payment"));
    const [registration, click] = [sample("registration"), sample("click")];
    await stage.giveUp([registration, ...payments]);

    const more = [click, sample("payment"), sample("payment")];
    for (const [nth, event] of more.entries()) {
      (await stage.handOver(event)).settle({ type: "dead", ...REJECTED });
      await until(() => delivery.dropped.length > nth, "no dead letter was dropped");
    }

    const [oldest, ...others] = payments as [OutboxEvent, ...OutboxEvent[]];
    const dropped = [click, registration, oldest].map((event) => ({ event, reason: "dead-letters-full" }));
    assert.deepEqual(
      delivery.dropped.map((each) => ({ ...each })),
      dropped,
    );
    const left = await outbox.deadLetters.list({ limit: maxDeadLetters + 1 });
    assert.deepEqual(idsOf(left), idsOf([...others, ...more.slice(1)]));
    for (const { event } of dropped) {
      assert.equal(await outbox.deadLetters.retry(event.id), false);
      assert.equal(await outbox.add(event), "duplicate");
    }
    await until(
      () => outbox.counts().dead.rejected === maxDeadLetters,
      "a dead letter that was dropped was counted",
    );
  });
}
