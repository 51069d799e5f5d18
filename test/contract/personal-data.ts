import assert from "node:assert/strict";
import type { Person } from "../../src/outbox/personal-data.js";
import { LONG_MS, sample, sampleOf, scheduledSample, stranger } from "./samples.js";
import { type Stage, type StageTests, until } from "./stage.js";

const ADA = "Ada@shop.example";
const ADA_IN_OTHER_CASE = "aDA@Shop.example";

/** A person's events: their states by id. */
async function listed(stage: Stage, person: Person): Promise<Record<string, string>> {
  const found = await stage.outbox.personalData(person);
  return Object.fromEntries(found.map(({ id, state }) => [id, state]));
}

export function testPersonalData(it: StageTests): void {
  it("lists what is queued and dead by address, and the clicks that share its ids", async (stage) => {
    const visitor = stranger();
    const dead = sampleOf(ADA_IN_OTHER_CASE, "payment");
    await stage.giveUp([dead]);
    await stage.pause();
    const click = sample("click", visitor);
    const registration = sampleOf(ADA, "registration", visitor);
    const other = sampleOf("ada@shop.example.org", "payment");
    await stage.add(click, registration, other, sample("click"));

    assert.deepEqual(await listed(stage, { email: "ADA@SHOP.EXAMPLE" }), {
      [dead.id]: "dead",
      [click.id]: "waiting",
      [registration.id]: "waiting",
    });
    const [found] = await stage.outbox.personalData({ email: "ada@shop.example.org" });
    const { id, destination, kind, data, createdAt } = other;
    assert.deepEqual(found, { id, destination, kind, event: data, createdAt, state: "waiting" });
  });

  it("lists what is under way, and by click id and session id what has that id, the oldest first", async (stage) => {
    const [one, two] = [stranger(), stranger()];
    const [underWay, click] = [sampleOf(ADA, "payment", one), sample("click", two)];
    const paid = {
      ...sampleOf("bo@shop.example", "payment", { sessionId: two.sessionId }),
      createdAt: click.createdAt - 1,
    };
    stage.delivery.capacity = 1;
    await stage.handOver(underWay);
    await stage.add(click, paid);

    assert.deepEqual(await listed(stage, { email: ADA }), { [underWay.id]: "under-way" });
    assert.deepEqual(await listed(stage, { clickId: two.clickId }), { [click.id]: "waiting" });
    // Null, as columns of a user's row may be.
    const bySession = await listed(stage, { email: null, clickId: null, sessionId: two.sessionId });
    assert.deepEqual(Object.entries(bySession), [
      [paid.id, "waiting"],
      [click.id, "waiting"],
    ]);
  });

  it("erases all but what is under way, keeps the ids, and lets the visitor's next event pass", async (stage) => {
    const visitor = stranger();
    const dead = sampleOf(ADA, "payment");
    await stage.giveUp([dead]);
    const underWay = sampleOf(ADA, "payment");
    stage.delivery.capacity = 1;
    const { settle } = await stage.handOver(underWay);
    const [click, paid] = [sample("click", visitor), sampleOf(ADA, "payment", visitor)];
    const next = sampleOf("bo@shop.example", "payment", visitor);
    await stage.add(click, paid, next);

    assert.equal(await stage.outbox.erase({ email: ADA_IN_OTHER_CASE }), 3);

    assert.deepEqual(await listed(stage, { email: ADA }), { [underWay.id]: "under-way" });
    await until(() => stage.outbox.counts().dead.rejected === 0, "an erased dead letter was counted");
    await stage.holds(2);
    stage.release();
    await stage.delivers(next);
    settle({ type: "delivered" });
    await stage.empty();
    assert.deepEqual(await listed(stage, { email: ADA, ...visitor }), {});
    for (const each of [dead, underWay, click, paid]) assert.equal(await stage.outbox.add(each), "duplicate");
  });

  it("finds what happened among many events", async (stage) => {
    stage.hold();
    const visitor = stranger();
    await stage.add(sample("click", visitor));
    await Promise.all(Array.from({ length: 1_200 }, () => stage.add(sample("payment"))));
    await stage.add(sampleOf(ADA, "registration", visitor), sampleOf(ADA, "payment"));

    assert.equal(await stage.outbox.erase({ email: ADA }), 3);

    await stage.holds(1_200);
  });

  it("erases a scheduled payment, which counts as cancelled", async (stage) => {
    stage.start();
    const visitor = stranger();
    const scheduled = scheduledSample(LONG_MS, visitor);
    await stage.add(scheduled);
    assert.deepEqual(await listed(stage, visitor), { [scheduled.id]: "waiting" });

    assert.equal(await stage.outbox.erase({ sessionId: visitor.sessionId }), 1);

    assert.equal(await stage.outbox.cancel(scheduled.id), "cancelled");
    assert.equal(await stage.outbox.add(scheduled), "duplicate");
    await stage.empty();
  });
}
