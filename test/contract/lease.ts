import assert from "node:assert/strict";
import { sample } from "./samples.js";
import { type Handed, type OutboxUnderTest, onTwoStages, REJECTED, retryIn, until } from "./stage.js";

// Chosen: the clocks of a process and of its store need not run alike.
const SAFE_SHARE = 0.9;
const SURELY_LATER = 1.2;

/** A process that claims an event, and is busy or cut off; and another process. */
export function testLease({
  create,
  reopen,
  leaseMs,
  cutOff,
  restore,
}: Required<Pick<OutboxUnderTest, "create" | "reopen" | "leaseMs" | "cutOff" | "restore">>): void {
  const it = onTwoStages(create, reopen);

  it("keeps what is under way for longer than its lease, if it may send nothing more", async ([
    busy,
    other,
  ]) => {
    const began = performance.now();
    const payment = await busy.handOver(sample("payment"));
    busy.delivery.capacity = 0;

    const delivered: string[] = [];
    other.deliverAll(delivered);
    // The other process goes on claiming.
    for (let nth = 1; performance.now() - began < SURELY_LATER * leaseMs; nth++) {
      await other.add(sample("click"));
      await until(() => delivered.length >= nth, "a process did not deliver its own events");
    }
    assert.equal(
      delivered.includes(payment.id),
      false,
      "another process got the event: its lease was not renewed",
    );
    assert.notEqual(payment.live.isLeased?.(), false, "`isLeased` says that the event is another process's");
    payment.settle({ type: "delivered" });
    await other.empty();
  });

  it("sends what another process has left, once its lease has ended", async ([left, other]) => {
    left.delivery.expectsFailures = true;
    const began = performance.now();
    // So a process claims nothing while it has an event.
    for (const { delivery } of [left, other]) delivery.capacity = 1;
    const first = await left.handOver(sample("payment"));

    other.start();
    let second: Handed;
    await cutOff();
    try {
      second = await other.delivery.next();
      assert.ok(performance.now() - began >= SAFE_SHARE * leaseMs, "the lease had not ended");
      assert.equal(
        first.live.isLeased?.(),
        false,
        "`isLeased` says that the event is still its first process's",
      );
      first.settle({ type: "dead", ...REJECTED });
    } finally {
      await restore();
    }

    assert.deepEqual(second.live.event, first.live.event);
    assert.equal(second.live.interrupted, true);
    await until(() => left.outbox.counts().trouble === undefined, "the store did not work again");
    const letters = await other.outbox.deadLetters.list();
    assert.deepEqual(letters, [], "`settle` had an effect, but another process has the event");
    assert.deepEqual(left.delivery.told, [], "`settle` must resolve to `false`: it had no effect");

    const next = await left.handOver(sample("click"));
    assert.equal(first.live.isLeased?.(), false, "a later claim made `isLeased` true again");
    left.delivery.capacity = -1;
    next.settle({ type: "delivered" });
    second.settle({ type: "release" });
    const third = await other.delivery.next();
    assert.equal(third.live.interrupted, true, "`release` cleared `interrupted`");
    third.settle(retryIn(0));
    const last = await other.delivery.next();
    assert.equal(last.live.interrupted, false, "`retry` did not clear `interrupted`");
    last.settle({ type: "delivered" });
    await other.empty();
  });
}
