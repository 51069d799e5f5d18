import assert from "node:assert/strict";
import type { EventKind, OutboxEvent } from "../../src/conversion/events.js";
import { KINDS } from "../../src/conversion/kinds.js";
import type { Attribution } from "../../src/conversion/visitor-ids.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";
import { seeded, someIdsOf } from "./order.js";
import { idsOf, LONG_MS, lane, type Paying, paying, sample, signingUp, stranger } from "./samples.js";
import { REJECTED, retryIn, type StageTests } from "./stage.js";

const NEWCOMERS = ENDPOINTS.map((endpoint) =>
  lane(endpoint, { newestFirst: true, newWithinMs: LONG_MS / 2 }),
);

export function testUrgentVisitors(it: StageTests): void {
  it("makes all events of a visitor as urgent as the most urgent, by whichever id they are known", async (stage) => {
    const { clickId, sessionId } = stranger();
    const chain = [
      sample("click", { clickId }),
      sample("click", { clickId, sessionId }),
      sample("registration", { sessionId }),
      sample("payment", { sessionId }),
    ];
    await stage.add(sample("click"), sample("registration"), ...chain);

    await stage.deliversOneByOne(...chain);
  });

  it("lets earlier events be as urgent as an event whose own endpoint has no lane", async (stage) => {
    const [click, registration, payment] = paying();
    const others = [sample("click"), sample("registration")];
    await stage.add(...others, click, registration, payment);
    stage.delivery.lanes = [lane("click")];

    await stage.deliversOneByOne(click);
    stage.delivery.lanes = [lane("registration")];
    stage.outbox.wake();
    await stage.delivers(registration);
  });

  it("keeps an event as urgent after an attempt as before it", async (stage) => {
    const [click, registration, payment] = paying();
    stage.delivery.capacity = 1;
    const underWay = await stage.handOver(click);
    await stage.add(sample("click"), sample("click"), registration, payment);

    underWay.settle({ type: "release" });
    (await stage.delivery.next()).settle(retryIn(0));

    await stage.delivers(click, registration, payment);
  });

  it("sends what was tried after what was not, unless a payment waits for it", async (stage) => {
    const [[clickOfLead, lead], [click, registration, payment]] = [signingUp(), paying()];
    await stage.tries(retryIn(0), clickOfLead, click);
    const other = sample("click");
    await stage.add(lead, registration, payment, other);

    await stage.deliversOneByOne(click, registration, payment, other, clickOfLead, lead);
  });

  it("counts an event as newly come when its urgency rises", async (stage) => {
    const [click, registration, payment] = paying().map(aged) as unknown as Paying;
    stage.delivery.lanes = NEWCOMERS;
    stage.start();
    await stage.add(click);
    await stage.deliversStranger();

    await stage.add(registration, { ...payment, createdAt: Date.now() });

    await stage.delivers(click, registration, payment);
  });

  it("counts what a lane has given to the more urgent towards the lane's limit", async (stage) => {
    const [click, , payment] = paying();
    const others = [sample("click"), sample("click")] as const;
    await stage.add(...others, click, payment);
    stage.delivery.lanes = [lane("click", { limit: 2 })];
    stage.start();

    assert.deepEqual(idsOf(await stage.take(2)), idsOf([click, others[0]]));
  });

  it("always sends one of the most urgent, whatever waits behind what", async (stage) => {
    const random = seeded(1_848);
    const visitors = Array.from({ length: 12 }, () => stranger());
    const kinds: EventKind[] = ["click", "click", "registration", "payment"];
    const live = Array.from({ length: 120 }, () =>
      sample(kinds[Math.floor(random() * kinds.length)] as EventKind, someIdsOf(visitors, random)),
    );
    const owners = new Map(live.map((event) => [event, ownerOf(event, visitors)]));
    const queueOf = (event: OutboxEvent) => live.filter((each) => owners.get(each) === owners.get(event));
    const urgencyOf = (event: OutboxEvent) => mostUrgent(queueOf(event).map(({ kind }) => kind));
    await stage.add(...live);
    stage.delivery.capacity = 1;
    stage.start();

    while (live.length > 0) {
      const { id, settle } = await stage.delivery.next();
      const heads = live.filter((event) => queueOf(event)[0] === event);
      const sent = heads.find((event) => event.id === id);
      assert.equal(sent && urgencyOf(sent), mostUrgent(heads.map(urgencyOf)));
      const luck = random();
      if (luck >= 0.1) live.splice(idsOf(live).indexOf(id), 1);
      settle(
        luck < 0.1 ? { type: "release" } : luck < 0.2 ? { type: "dead", ...REJECTED } : { type: "delivered" },
      );
    }
  });
}

const aged = (event: OutboxEvent): OutboxEvent => ({ ...event, createdAt: event.createdAt - LONG_MS });

/** The visitor that an event is of, or the event if it is of none. */
function ownerOf(event: OutboxEvent, visitors: readonly Required<Attribution>[]): object {
  const { clickId, sessionId } = event.data;
  return visitors.find((each) => each.clickId === clickId || each.sessionId === sessionId) ?? event;
}

const mostUrgent = (kinds: readonly (EventKind | undefined)[]) => KINDS.find((kind) => kinds.includes(kind));
