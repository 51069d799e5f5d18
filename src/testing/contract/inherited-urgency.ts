import assert from "node:assert/strict";
import type { EventKind, OutboxEvent } from "../../events.js";
import type { Lane } from "../../outbox/outbox.js";
import { URGENCIES, type Urgency } from "../../outbox/urgency.js";
import { ENDPOINTS } from "../../service/endpoints.js";
import { seeded } from "./order.js";
import { retryIn, until } from "./recorder.js";
import { type Paying, paying, sample, signingUp, stranger } from "./samples.js";
import { REJECTED, Stage } from "./stage.js";
import type { OutboxUnderTest, TestRunner } from "./under-test.js";

const LONG_MS = 3_600_000;
const NEWCOMERS = ENDPOINTS.map((endpoint) =>
  lane({ endpoint, newestFirst: true, newWithinMs: LONG_MS / 2 }),
);

export function testInheritedUrgency(it: TestRunner["it"], { create }: OutboxUnderTest): void {
  it("hands the click and the registration of a visitor who has paid over before those of others", async () => {
    await using stage = await Stage.open(create);
    const others = [sample("click"), sample("registration"), sample("click")] as const;
    const [click, registration, payment] = paying();
    const [clickOfLead, lead] = signingUp();
    await stage.add(...others, clickOfLead, lead, click, registration, payment);

    const order = [click, registration, payment, others[1], clickOfLead, lead, others[0], others[2]];
    assert.deepEqual(await takeOneByOne(stage, order.length), idsOf(order));
  });

  it("hands the click of a visitor who pays while it waits over before clicks that came before it", async () => {
    await using stage = await Stage.open(create);
    const [click, registration, payment] = paying();
    const [first, ...others] = Array.from({ length: 300 }, () => sample("click"));
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(first as OutboxEvent);
    const underWay = await stage.delivery.next();
    await Promise.all(others.map((event) => stage.add(event)));
    await stage.add(click);
    await Promise.all(Array.from({ length: 300 }, () => stage.add(sample("click"))));
    await stage.add(registration, payment);

    underWay.settle({ type: "delivered" });

    for (const { id } of [click, registration, payment]) assert.equal(await stage.delivery.deliverNext(), id);
  });

  it("passes urgency on through click ids and session ids, over as many steps as there are", async () => {
    await using stage = await Stage.open(create);
    const [a, b, c] = [stranger(), stranger(), stranger()] as const;
    const chain = [
      sample("click", { clickId: a.clickId }),
      sample("click", { clickId: a.clickId, sessionId: a.sessionId }),
      sample("click", { clickId: b.clickId, sessionId: a.sessionId }),
      sample("registration", { clickId: b.clickId, sessionId: b.sessionId }),
      sample("click", { clickId: c.clickId, sessionId: b.sessionId }),
      sample("payment", { clickId: c.clickId }),
    ];
    await stage.add(sample("click"), sample("registration"), ...chain);

    assert.deepEqual(await takeOneByOne(stage, chain.length), idsOf(chain));
  });

  it("has an event lend its urgency while there is no lane for its own endpoint", async () => {
    await using stage = await Stage.open(create);
    const [click, registration, payment] = paying();
    const others = [sample("click"), sample("registration")];
    await stage.add(...others, click, registration, payment);
    stage.delivery.lanes = [lane({ endpoint: "click" })];

    assert.deepEqual(await takeOneByOne(stage, 1), [click.id]);
    stage.delivery.lanes = [lane({ endpoint: "registration" })];
    stage.outbox.wake();
    assert.equal(await stage.delivery.deliverNext(), registration.id);
  });

  it("says how urgent an event is", async () => {
    await using stage = await Stage.open(create);
    await stage.add(sample("click"), ...signingUp().slice(0, 2), paying()[0]);
    const [click, , payment] = paying();
    await stage.add(click, payment);
    stage.delivery.lanes = [lane({ endpoint: "click" })];
    stage.start();

    const said: Urgency[] = [];
    for (let n = 0; n < 4; n++) {
      const { live } = await stage.delivery.next();
      said.push(live.urgency ?? live.event.kind);
    }
    assert.deepEqual(said, ["payment", "registration", "click", "click"]);
  });

  it("keeps an event as urgent after an attempt as before it", async () => {
    await using stage = await Stage.open(create);
    const [click, registration, payment] = paying();
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(click);
    const underWay = await stage.delivery.next();
    await stage.add(sample("click"), sample("click"), registration, payment);

    underWay.settle({ type: "release" });
    (await stage.delivery.next()).settle(retryIn(0));

    for (const { id } of [click, registration, payment]) assert.equal(await stage.delivery.deliverNext(), id);
  });

  it("hands what was tried over after what was not, unless a payment waits for it", async () => {
    await using stage = await Stage.open(create);
    const [[clickOfLead, lead], [click, registration, payment]] = [signingUp(), paying()];
    // The two clicks take all slots, so no claim is under way when the capacity changes.
    stage.delivery.capacity = 2;
    stage.start();
    await stage.add(clickOfLead, click);
    for (const underWay of [await stage.delivery.next(), await stage.delivery.next()]) {
      stage.delivery.capacity = -1;
      underWay.settle(retryIn(0));
    }
    await until(() => stage.delivery.told.length === 2, "the retries were not acted on");
    const other = sample("click");
    await stage.add(lead, registration, payment, other);

    const order = [click, registration, payment, other, clickOfLead, lead];
    assert.deepEqual(await takeOneByOne(stage, order.length), idsOf(order));
  });

  it("hands one that rests over after those that do not, however urgent it is", async () => {
    await using stage = await Stage.open(create);
    const [click, , payment] = paying();
    const other = sample("click");
    stage.delivery.capacity = 1;
    stage.start();
    await stage.add(click);
    const underWay = await stage.delivery.next();
    stage.delivery.lanes = [lane({ endpoint: "click", newestFirst: true, evenResting: true, limit: 1 })];
    // The verdict adds one.
    stage.delivery.capacity = -1;
    underWay.settle(retryIn(LONG_MS));
    await until(() => stage.delivery.told.length === 1, "the retry was not acted on");
    await stage.add(payment, other);

    assert.deepEqual(await takeOneByOne(stage, 2), idsOf([other, click]));
  });

  it("counts an event as newly come when its urgency rises", async () => {
    await using stage = await Stage.open(create);
    const [click, registration, payment] = paying().map(aged) as unknown as Paying;
    stage.delivery.lanes = NEWCOMERS;
    stage.start();
    // A later event that is handed over shows that this one is kept back, and not just late.
    const other = sample("click");
    await stage.add(click, other);
    assert.equal(await stage.delivery.deliverNext(), other.id);

    await stage.add(registration, { ...payment, createdAt: Date.now() });

    for (const { id } of [click, registration, payment]) assert.equal(await stage.delivery.deliverNext(), id);
  });

  it("counts what a lane has given to the more urgent towards the lane's limit", async () => {
    await using stage = await Stage.open(create);
    const [click, , payment] = paying();
    const others = [sample("click"), sample("click")] as const;
    await stage.add(...others, click, payment);
    stage.delivery.lanes = [lane({ endpoint: "click", limit: 2 })];
    stage.start();

    const taken = [await stage.delivery.next(), await stage.delivery.next()];
    assert.deepEqual(
      taken.map(({ id }) => id),
      idsOf([click, others[0]]),
    );
  });

  it("always hands over one of the most urgent, whatever waits behind what", async () => {
    await using stage = await Stage.open(create);
    const random = seeded(1_848);
    const visitors = Array.from({ length: 12 }, () => stranger());
    const idOf = (name: "clickId" | "sessionId") => {
      const id = random() < 0.6 ? visitors[Math.floor(random() * visitors.length)]?.[name] : undefined;
      return id === undefined ? {} : { [name]: id };
    };
    const kinds: EventKind[] = ["click", "click", "registration", "payment"];
    const live = Array.from({ length: 120 }, () =>
      sample(kinds[Math.floor(random() * kinds.length)] as EventKind, {
        ...idOf("clickId"),
        ...idOf("sessionId"),
      }),
    );
    await stage.add(...live);
    stage.delivery.capacity = 1;
    stage.start();

    while (live.length > 0) {
      const { id, settle } = await stage.delivery.next();
      const urgencies = urgenciesOf(live);
      const most = Math.max(
        ...live.filter((each) => !waits(each, live)).map((each) => urgencies.get(each) ?? 0),
      );
      const handed = live.find((event) => event.id === id) as OutboxEvent;
      assert.equal(urgencies.get(handed), most);
      assert.equal(waits(handed, live), false);
      const luck = random();
      if (luck >= 0.1) live.splice(live.indexOf(handed), 1);
      settle(
        luck < 0.1 ? { type: "release" } : luck < 0.2 ? { type: "dead", ...REJECTED } : { type: "delivered" },
      );
    }
  });
}

const aged = (event: OutboxEvent): OutboxEvent => ({ ...event, createdAt: event.createdAt - LONG_MS });

const idsOf = (events: readonly OutboxEvent[]) => events.map(({ id }) => id);

function lane(rules: Partial<Lane> & Pick<Lane, "endpoint">): Lane {
  return { limit: Number.POSITIVE_INFINITY, ...rules };
}

/** Delivers so many events, one at a time. Resolves to their ids. */
async function takeOneByOne(stage: Stage, number: number): Promise<string[]> {
  stage.delivery.capacity = 1;
  if (stage.delivery.started) stage.outbox.wake();
  else stage.start();
  const ids: string[] = [];
  while (ids.length < number) ids.push(await stage.delivery.deliverNext());
  return ids;
}

function sharesAnId({ data: one }: OutboxEvent, { data: other }: OutboxEvent): boolean {
  const shares = (name: "clickId" | "sessionId") => one[name] !== undefined && one[name] === other[name];
  return shares("clickId") || shares("sessionId");
}

/** Whether an event waits for an earlier one. */
function waits(event: OutboxEvent, live: readonly OutboxEvent[]): boolean {
  return live.slice(0, live.indexOf(event)).some((earlier) => sharesAnId(earlier, event));
}

/** How urgent each is; a higher number is more urgent. */
function urgenciesOf(live: readonly OutboxEvent[]): Map<OutboxEvent, number> {
  const urgencies = new Map<OutboxEvent, number>();
  // From the last to the first, because events wait for earlier ones.
  for (const [at, event] of [...live.entries()].reverse()) {
    const behind = live.slice(at + 1).filter((later) => sharesAnId(event, later));
    const own = -URGENCIES.indexOf(event.kind);
    urgencies.set(event, Math.max(own, ...behind.map((later) => urgencies.get(later) as number)));
  }
  return urgencies;
}
