import assert from "node:assert/strict";
import type { OutboxEvent } from "../../src/conversion/events.js";
import { sample, stranger } from "./samples.js";
import { type Lasting, onStage, onTwoStages, REJECTED, Stage, until } from "./stage.js";

const OTHER = 43;

const forOther = (event: OutboxEvent): OutboxEvent => ({ ...event, destination: OTHER });

/** Two client ids on one storage. */
export function testDestinations({ create, reopen }: Lasting): void {
  const it = onStage(create);
  const itOfTwo = onTwoStages(create, reopen, OTHER);

  itOfTwo("sends, counts and lists the events of its own destination alone", async ([own, other]) => {
    own.start();
    other.start();
    const [mine, theirs] = [sample("payment"), forOther(sample("payment"))];
    // Either may have stored it.
    await own.add(theirs);
    await other.add(mine);

    const handed = [await own.delivery.next(), await other.delivery.next()] as const;
    assert.deepEqual([handed[0].live.event, handed[1].live.event], [mine, theirs]);
    await own.holds(1);
    await other.holds(1);
    handed[0].settle({ type: "delivered" });
    handed[1].settle({ type: "dead", ...REJECTED });
    await own.empty();
    await until(() => other.outbox.counts().dead.rejected === 1, "a dead letter was not counted");
    assert.equal(own.outbox.counts().dead.rejected, 0);
    assert.deepEqual(await own.outbox.deadLetters.list(), []);
    assert.equal((await other.outbox.deadLetters.list())[0]?.destination, OTHER);
    assert.equal(await own.outbox.deadLetters.retry(theirs.id), false);
    assert.equal(await own.outbox.deadLetters.discard(theirs.id), false);
    assert.equal(await own.outbox.deadLetters.retryAll(), 0);
    assert.equal(await other.outbox.deadLetters.retryAll(), 1);
  });

  it("takes the same id for two destinations, and holds no visitor back for another destination's event", async (own) => {
    const visitor = stranger();
    const [click, event] = [forOther(sample("click", visitor)), sample("payment", visitor)];
    await own.add(click, forOther(event), event);
    assert.equal(await own.outbox.add(event), "duplicate");
    assert.equal(await own.outbox.add(forOther(event)), "duplicate");

    own.start();

    assert.deepEqual((await own.delivery.next()).live.event, event);
    await using other = await Stage.open(reopen, OTHER);
    other.start();
    await other.delivers(click, event);
    await other.empty();
    assert.equal(await own.outbox.add(event), "duplicate");
  });
}
