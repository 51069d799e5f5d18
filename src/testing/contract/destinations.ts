import assert from "node:assert/strict";
import type { OutboxEvent } from "../../events.js";
import { until } from "./recorder.js";
import { DESTINATION, sample, stranger } from "./samples.js";
import { REJECTED, Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

const ELSEWHERE = "43:https://sandbox.example";

const elsewhere = (event: OutboxEvent): OutboxEvent => ({ ...event, destination: ELSEWHERE });

/** Two programs on one storage. */
export function testDestinations(
  it: TestRunner["it"],
  { create, reopen }: Required<Pick<OutboxUnderTest, "create" | "reopen">>,
): void {
  it("hands over, counts and lists the events of its own destination alone", async () => {
    await using own = await Stage.open(create);
    await using other = await Stage.open(reopen, ELSEWHERE);
    own.start();
    other.start();
    const [mine, theirs] = [sample("payment"), elsewhere(sample("payment"))];
    // Either of the two may have stored it.
    await own.add(theirs);
    await other.add(mine);

    const handed = [await own.delivery.next(), await other.delivery.next()] as const;
    assert.deepEqual(
      handed.map(({ live }) => live.event),
      [mine, theirs],
    );
    await own.holds(1);
    await other.holds(1);
    handed[0].settle({ type: "delivered" });
    handed[1].settle({ type: "dead", ...REJECTED });
    await own.empty();
    await until(() => other.outbox.counts().dead.rejected === 1, "a dead letter was not counted");
    assert.equal(own.outbox.counts().dead.rejected, 0);
    assert.deepEqual(await own.outbox.deadLetters.list(), []);
    assert.equal((await other.outbox.deadLetters.list())[0]?.destination, ELSEWHERE);
    assert.equal(await own.outbox.deadLetters.retry(theirs.id), false);
    assert.equal(await own.outbox.deadLetters.discard(theirs.id), false);
    assert.equal(await own.outbox.deadLetters.retryAll(), 0);
    assert.equal(await other.outbox.deadLetters.retryAll(), 1);
  });

  it("takes the same id for two destinations, and holds no visitor back for another destination's event", async () => {
    await using own = await Stage.open(create);
    const visitor = stranger();
    const event = sample("payment", visitor);
    await own.add(elsewhere(sample("click", visitor)), elsewhere(event), event);
    assert.equal(await own.outbox.add(event), "duplicate");
    assert.equal(await own.outbox.add(elsewhere(event)), "duplicate");

    own.start();

    assert.deepEqual((await own.delivery.next()).live.event, event);
    await using other = await Stage.open(reopen, ELSEWHERE);
    other.start();
    await other.delivery.deliverNext();
    assert.equal(await other.delivery.deliverNext(), event.id);
    await other.empty();
    assert.equal(await own.outbox.add(event), "duplicate");
  });
}

/** The tests of several destinations in a storage, and of the handover. */
export function testHandOver(
  it: TestRunner["it"],
  { create, reopen }: Required<Pick<OutboxUnderTest, "create" | "reopen">>,
): void {
  it("says how many wait for each destination", async () => {
    await using stage = await Stage.open(create);
    await stage.add(sample("click"), elsewhere(sample("click")), elsewhere(sample("payment")));
    stage.hold();

    const expected = { [DESTINATION]: 1, [ELSEWHERE]: 2 };
    const isSaid = () =>
      JSON.stringify(sorted(stage.outbox.counts().byDestination)) === JSON.stringify(expected);
    await until(isSaid, "what waits for each destination was not counted");
    assert.equal(stage.outbox.counts().queued, 1);
  });

  it("hands one destination's events over to another: what waits, what is dead, and what is known", async () => {
    const visitor = stranger();
    const [delivered, dead] = [sample("payment"), sample("payment")].map(elsewhere) as [
      OutboxEvent,
      OutboxEvent,
    ];
    const [first, second] = [sample("click", visitor), sample("payment", visitor)];
    {
      await using before = await Stage.open(create, ELSEWHERE);
      before.start();
      await before.add(delivered);
      await before.delivery.deliverNext();
      await before.giveUp([dead]);
      await before.add(elsewhere(first), elsewhere(second));
    }
    await using stage = await Stage.open(reopen);
    // An event of both destinations: the one of the new destination stays, and no second one comes.
    const both = sample("registration");
    await stage.add(both, elsewhere(both));
    stage.start();
    assert.equal(await stage.delivery.deliverNext(), both.id);
    assert.ok(stage.outbox.handOver, "it has no handOver");

    assert.equal(await stage.outbox.handOver(ELSEWHERE, DESTINATION), 2);
    stage.outbox.wake();

    assert.deepEqual((await stage.delivery.next().then(take)).event, first);
    assert.deepEqual((await stage.delivery.next().then(take)).event, second);
    for (const { id } of [delivered, dead, both, first]) {
      assert.equal(await stage.outbox.add({ ...sample("payment"), id }), "duplicate");
    }
    await until(() => stage.outbox.counts().dead.rejected === 1, "a dead letter was not counted");
    assert.deepEqual(
      (await stage.outbox.deadLetters.list()).map(({ id, destination }) => ({ id, destination })),
      [{ id: dead.id, destination: DESTINATION }],
    );
    await stage.empty();
  });
}

function take(handed: Awaited<ReturnType<Stage["delivery"]["next"]>>) {
  handed.settle({ type: "delivered" });
  return handed.live;
}

function sorted(numbers: Readonly<Record<string, number>> = {}): Record<string, number> {
  return Object.fromEntries(Object.entries(numbers).sort(([one], [other]) => (one < other ? -1 : 1)));
}
