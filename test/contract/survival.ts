import assert from "node:assert/strict";
import { test } from "vitest";
import { createJournal } from "../../src/journal/journal.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import { systemClock } from "../../src/shared/clock.js";
import { createShutdown } from "../../src/shutdown.js";
import { paying, sample, stranger } from "./samples.js";
import { type Lasting, onTwoStages, REJECTED, retryIn, Stage, until } from "./stage.js";

/** The tests of a next process, and of two processes at the same time. */
export function testSurvival({ create, reopen }: Lasting): void {
  const it = onTwoStages(create, reopen);

  test("finds what waited, in order, with its history, and the dead letters; and knows what was delivered", async () => {
    const [delivered, dead] = [sample("payment"), sample("payment")];
    const [click, ...others] = paying();
    {
      await using stage = await Stage.open(create);
      (await stage.handOver(delivered)).settle({ type: "delivered" });
      await stage.giveUp([dead]);
      stage.delivery.capacity = 1;
      const handed = await stage.handOver(click, ...others);
      handed.settle(retryIn(1, { maybeTaken: true, triedAt: 1 }));
      await stage.close();
    }

    await using stage = await Stage.open(reopen);
    stage.hold();
    await stage.holds(3);
    for (const event of [delivered, dead]) assert.equal(await stage.outbox.add(event), "duplicate");
    await until(() => stage.outbox.counts().dead.rejected === 1, "the dead letter was not counted");
    assert.deepEqual(
      (await stage.outbox.deadLetters.list()).map(({ id, message }) => ({ id, message })),
      [{ id: dead.id, message: REJECTED.message }],
    );
    stage.release();
    const first = await stage.delivery.next();
    const { event, history, interrupted } = first.live;
    assert.deepEqual(event, click);
    assert.deepEqual({ ...history }, { ...UNTRIED, attempts: 1, failures: 1, maybeTaken: true, triedAt: 1 });
    assert.equal(interrupted, false);
    first.settle({ type: "delivered" });
    await stage.delivers(...others);
  });

  test("stores what it was given before it was closed, and says so", async () => {
    const events = [sample("click"), sample("registration"), sample("payment")];
    {
      await using stage = await Stage.open(create);
      const added = events.map((event) => stage.outbox.add(event));
      await stage.close();
      assert.deepEqual(await Promise.all(added), ["queued", "queued", "queued"]);
      assert.equal(stage.outbox.durable, true);
    }

    await using stage = await Stage.open(reopen);
    stage.hold();
    await stage.holds(3);
  });

  it("does not say that all is settled when a flush has no time to count", async ([one, other]) => {
    await one.add(sample("payment"));
    other.hold();
    const delivery = { stop() {} };
    const transport = { abort() {}, close: async () => {} };
    const journal = createJournal({ logger: console, clock: systemClock });
    const shutdown = createShutdown({ outbox: other.outbox, delivery, transport, journal });

    assert.equal((await shutdown.flush({ timeoutMs: 0 })).settled, false);

    await shutdown.close();
  });

  it("stores an event once when two processes add it", async ([one, other]) => {
    const event = sample("payment");

    const outcomes = await Promise.all([one.outbox.add(event), other.outbox.add(event)]);

    assert.deepEqual(outcomes.sort(), ["duplicate", "queued"]);
  });

  it("hands each event to one of two processes, and keeps a visitor's order across both", async ([
    one,
    other,
  ]) => {
    const visitors = Array.from({ length: 8 }, stranger);
    const gone: string[] = [];
    const events = Array.from({ length: 80 }, (_, nth) => sample("payment", visitors[nth % visitors.length]));
    for (const stage of [one, other]) {
      stage.delivery.capacity = 3;
      stage.deliverAll(gone);
    }

    for (const [nth, event] of events.entries()) await (nth % 3 ? one : other).add(event);
    await until(() => gone.length >= events.length, "events were not handed over");

    assert.deepEqual([...gone].sort(), events.map(({ id }) => id).sort());
    for (const visitor of visitors) {
      const theirs = events.filter(({ data }) => data.clickId === visitor.clickId).map(({ id }) => id);
      const found = gone.filter((id) => theirs.includes(id));
      assert.deepEqual(found, theirs);
    }
  });
}
