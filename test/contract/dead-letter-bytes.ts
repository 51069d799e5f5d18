import assert from "node:assert/strict";
import type { EventKind } from "../../src/conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../src/conversion/kinds.js";
import { fill } from "./bounds.js";
import { idsOf, largeSample } from "./samples.js";
import { type Creates, onStage, REJECTED, Stage, until } from "./stage.js";

/** `maxDeadLetterBytes` is that of `createSmall`. */
export function testDeadLetterBytes(createSmall: Creates, maxDeadLetterBytes: number): void {
  const it = onStage(createSmall);
  const large = (kind: EventKind) => largeSample(kind, maxDeadLetterBytes / 4);

  it("keeps fewer if they are large: their bytes are bounded as their number is", async (stage) => {
    const { outbox, delivery } = stage;
    const kinds: EventKind[] = ["payment", "registration", "click", ...Array(5).fill("payment")];
    const events = kinds.map(large);
    for (const [nth, event] of events.entries()) {
      (await stage.handOver(event)).settle({ type: "dead", ...REJECTED });
      await until(
        () => outbox.counts().dead.rejected + delivery.dropped.length > nth,
        "a dead letter was not counted",
      );
    }
    await until(() => outbox.counts().dead.rejected <= 4, "more bytes of dead letters were kept");

    // The notice of a removed one comes a moment later.
    let left: string[];
    do left = idsOf(await outbox.deadLetters.list());
    while (left.length + delivery.dropped.length !== events.length);
    const dropped = delivery.dropped.map(({ event }) => event);
    const [payment, registration, click] = events;
    assert.deepEqual(dropped.slice(0, 3), [click, registration, payment]);
    assert.ok(delivery.dropped.every(({ reason }) => reason === "dead-letters-full"));
    assert.deepEqual(left, idsOf(events.filter((event) => !idsOf(dropped).includes(event.id))));
    assert.ok(left.length > 0);
    for (const event of dropped) assert.equal(await outbox.add(event), "duplicate");
  });

  it("takes as many payments as if there were no dead letters: clicks give way first, payments last", async (empty) => {
    empty.hold();
    const most = await fill(empty.outbox, "payment");

    await using stage = await Stage.open(createSmall);
    const letters = [large("payment"), large("registration"), large("click")];
    await stage.giveUp(letters);
    await stage.pause();
    assert.equal(await fill(stage.outbox, "payment"), most);

    await stage.holds(most);
    const { dropped } = stage.delivery;
    const kinds = dropped.map(({ event }) => event.kind);
    assert.deepEqual(kinds, LEAST_URGENT_FIRST.slice(0, kinds.length));
    assert.ok(dropped.every(({ reason }) => reason === "dead-letters-full"));
    const left = await stage.outbox.deadLetters.list();
    assert.equal(left.length + dropped.length, letters.length);
    for (const { event } of dropped) assert.equal(await stage.outbox.add(event), "duplicate");
  });

  it("drops no dead payment for a registration, and no dead registration for a click", async (stage) => {
    const [payment, registration] = [large("payment"), large("registration")];
    await stage.giveUp([payment, registration]);
    await stage.pause();
    const ids = async () => idsOf(await stage.outbox.deadLetters.list());

    await fill(stage.outbox, "click");
    assert.deepEqual(await ids(), [payment.id, registration.id]);
    await fill(stage.outbox, "registration");
    assert.ok((await ids()).includes(payment.id));
  });

  it("queues a dead letter again however full it is of others", async (stage) => {
    const [first, second] = [large("click"), large("click")];
    await stage.giveUp([first, second]);
    await stage.pause();
    await fill(stage.outbox, "click", 20);

    assert.equal(await stage.outbox.deadLetters.retry(first.id), true);

    assert.deepEqual(idsOf(await stage.outbox.deadLetters.list()), [second.id]);
  });
}
