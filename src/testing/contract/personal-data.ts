import assert from "node:assert/strict";
import type { Outbox } from "../../outbox/outbox.js";
import type { Person } from "../../outbox/personal-data.js";
import { until } from "./recorder.js";
import { sample, sampleOf, scheduledSample, stranger } from "./samples.js";
import { Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

const ADA = "Ada@shop.example";
const ADA_IN_OTHER_CASE = "aDA@Shop.example";

function searchOf({ personalData, erase }: Outbox) {
  assert.ok(personalData && erase, "the outbox has personalData and erase");
  return { personalData, erase };
}

/** The ids of a person's events, with their states, by id. */
async function listed(outbox: Outbox, person: Person): Promise<Record<string, string>> {
  const found = await searchOf(outbox).personalData(person);
  return Object.fromEntries(found.map(({ id, state }) => [id, state]).sort());
}

const inOrder = (states: Record<string, string>) => Object.fromEntries(Object.entries(states).sort());

export function testPersonalData(it: TestRunner["it"], outbox: OutboxUnderTest): void {
  const { create, schedules } = outbox;

  it("lists what is queued and dead by address, and the clicks that share its ids", async () => {
    await using stage = await Stage.open(create);
    const visitor = stranger();
    const dead = sampleOf(ADA_IN_OTHER_CASE, "payment");
    await stage.giveUp([dead]);
    stage.delivery.capacity = 0;
    // A claim that began before may take what comes.
    await until(() => stage.outbox.idle !== false, "a claim was under way");
    const click = sample("click", visitor);
    const registration = sampleOf(ADA, "registration", visitor);
    const other = sampleOf("ada@shop.example.org", "payment");
    await stage.add(click, registration, other, sample("click"));

    assert.deepEqual(
      await listed(stage.outbox, { email: "ADA@SHOP.EXAMPLE" }),
      inOrder({ [dead.id]: "dead", [click.id]: "waiting", [registration.id]: "waiting" }),
    );
    const [found] = await searchOf(stage.outbox).personalData({ email: "ada@shop.example.org" });
    const { id, destination, kind, data, createdAt } = other;
    assert.deepEqual(found, { id, destination, kind, event: data, createdAt, state: "waiting" });
  });

  it("lists what is under way, and by click id and session id what has that id", async () => {
    await using stage = await Stage.open(create);
    const [one, two] = [stranger(), stranger()];
    const [underWay, click] = [sampleOf(ADA, "payment", one), sample("click", two)];
    const paid = sampleOf("bo@shop.example", "payment", { sessionId: two.sessionId });
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(underWay);
    await stage.delivery.next();
    await stage.add(click, paid);

    assert.deepEqual(await listed(stage.outbox, { email: ADA }), { [underWay.id]: "under-way" });
    assert.deepEqual(await listed(stage.outbox, { clickId: two.clickId }), { [click.id]: "waiting" });
    assert.deepEqual(
      await listed(stage.outbox, { email: null, sessionId: two.sessionId }),
      inOrder({ [click.id]: "waiting", [paid.id]: "waiting" }),
    );
  });

  it("leaves out another address that shares an id", async () => {
    await using stage = await Stage.open(create);
    const visitor = stranger();
    const [own, other] = [sampleOf(ADA, "payment", visitor), sampleOf("bo@shop.example", "payment", visitor)];
    stage.hold();
    await stage.add(own, other);

    assert.deepEqual(await listed(stage.outbox, { email: ADA }), { [own.id]: "waiting" });
  });

  it("erases all but what is under way, keeps the ids, and lets the visitor's next event pass", async () => {
    await using stage = await Stage.open(create);
    const visitor = stranger();
    const dead = sampleOf(ADA, "payment");
    await stage.giveUp([dead]);
    const underWay = sampleOf(ADA, "payment");
    stage.delivery.capacity = 1;
    await stage.add(underWay);
    const { settle } = await stage.delivery.next();
    const [click, paid] = [sample("click", visitor), sampleOf(ADA, "payment", visitor)];
    const next = sampleOf("bo@shop.example", "payment", visitor);
    await stage.add(click, paid, next);

    assert.equal(await searchOf(stage.outbox).erase({ email: ADA_IN_OTHER_CASE }), 3);

    assert.deepEqual(await listed(stage.outbox, { email: ADA }), { [underWay.id]: "under-way" });
    await until(() => stage.outbox.counts().dead.rejected === 0, "an erased dead letter was counted");
    await stage.holds(2);
    stage.release();
    assert.equal(await stage.delivery.deliverNext(), next.id);
    settle({ type: "delivered" });
    await stage.empty();
    assert.deepEqual(await listed(stage.outbox, { email: ADA, ...visitor }), {});
    for (const event of [dead, underWay, click, paid]) {
      assert.equal(await stage.outbox.add(event), "duplicate");
    }
  });

  it("finds what happened among many events", async () => {
    await using stage = await Stage.open(create);
    stage.hold();
    const visitor = stranger();
    const own = [sample("click", visitor), sampleOf(ADA, "registration", visitor), sampleOf(ADA, "payment")];
    const [first, ...rest] = own as [(typeof own)[0], ...typeof own];
    await stage.add(first);
    const many = Array.from({ length: 1_200 }, () => sample("payment"));
    await Promise.all(many.map((event) => stage.add(event)));
    await stage.add(...rest);

    assert.equal(await searchOf(stage.outbox).erase({ email: ADA }), 3);

    await stage.holds(many.length);
  });

  it("refuses a person without an address or id, or with other fields", async () => {
    await using stage = await Stage.open(create);
    const { personalData, erase } = searchOf(stage.outbox);
    for (const person of [{}, { email: null }, { mail: ADA }, { email: "Ada" }, { email: ADA, x: 1 }, null]) {
      await assert.rejects(personalData(person as Person), { code: "ERR_AFFILIATE_ARGUMENT" });
      await assert.rejects(erase(person as Person), { code: "ERR_AFFILIATE_ARGUMENT" });
    }
  });

  if (!schedules) return;
  it("erases a scheduled payment, which counts as cancelled", async () => {
    await using stage = await Stage.open(create);
    stage.start();
    const visitor = stranger();
    const scheduled = scheduledSample(3_600_000, visitor);
    await stage.add(scheduled);
    assert.deepEqual(await listed(stage.outbox, visitor), { [scheduled.id]: "waiting" });

    assert.equal(await searchOf(stage.outbox).erase({ sessionId: visitor.sessionId }), 1);

    assert.equal(await stage.outbox.cancel?.(scheduled.id), "cancelled");
    assert.equal(await stage.outbox.add(scheduled), "duplicate");
    await stage.empty();
  });
}
