import type { EventKind } from "express-affiliate";
import type { Capacity, Claim, Endpoint, Lane } from "express-affiliate/outbox";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { createPrefetch } from "../../src/engine/prefetch.js";
import { UNTRIED } from "../../src/outbox/outbox.js";
import { ENDPOINTS, kindOf } from "../../src/service/endpoints.js";
import { DESTINATION } from "../../src/testing/contract/samples.js";
import { makeEvent } from "../helpers/virtual-delivery.js";

const PLACES = 6;
const CONCURRENCY = 8;
const attributions = { click: { clickId: "c" }, registration: { clickId: "c" }, payment: { clickId: "c" } };

type Waiting = Partial<Record<Endpoint, number>>;

/** A store with so many events, and what is claimed of it, as ever after some claims. One kind may be sent once alone. */
async function underTest(waiting: Waiting, once: EventKind = "payment") {
  const tested = atFirst({}, once);
  for (let claims = 0; claims < 5; claims++) await tested.ahead.claim(all);
  tested.asked.length = 0;
  Object.assign(tested.left, waiting);
  return tested;
}

function atFirst(waiting: Waiting, once: EventKind = "payment") {
  const left = { ...waiting };
  const paused: Endpoint[] = [];
  const asked: Capacity[] = [];
  const released: Claim[] = [];
  const outranking: Partial<Record<Endpoint, boolean>> & { onClaim?: () => void } = {};
  const state = { isWell: true };
  let number = 0;
  const ahead = createPrefetch<Claim>(
    {
      async claim(capacity) {
        asked.push(capacity);
        outranking.onClaim?.();
        const claimed: Claim[] = [];
        for (const lane of capacity.lanes) {
          const most = Math.min(lane.limit, capacity.limit - claimed.length, left[lane.endpoint] ?? 0);
          left[lane.endpoint] = (left[lane.endpoint] ?? 0) - most;
          for (let nth = 0; nth < most; nth++) claimed.push(claimOf(lane, number++));
        }
        return claimed;
      },
      async settle(claim, { type }) {
        if (type !== "release") return true;
        released.push(claim);
        const { endpoint } = claim.lane;
        left[endpoint] = (left[endpoint] ?? 0) + 1;
        return true;
      },
    },
    {
      mayGoTwice: (endpoint) => kindOf(endpoint) !== once,
      isPaused: (endpoint) => paused.includes(endpoint),
      outranks: (endpoint) => outranking[endpoint] === true,
      isWell: () => state.isWell,
    },
  );
  return { ahead, left, asked, released, paused, outranking, state };
}

function claimOf(lane: Lane, number: number): Claim {
  const kind: EventKind = kindOf(lane.endpoint);
  return {
    event: makeEvent(kind, attributions[kind], number),
    lane,
    history: UNTRIED,
    interrupted: false,
    queuedAt: 0,
  };
}

function capacityFor(limit: number, lanes: readonly (Endpoint | Lane)[] = ENDPOINTS): Capacity {
  const laneOf = (each: Endpoint | Lane) =>
    typeof each === "string" ? { endpoint: each, limit: PLACES } : each;
  return { destination: DESTINATION, limit, lanes: lanes.map(laneOf) };
}

const all = capacityFor(CONCURRENCY);
const one = (endpoint: Endpoint) => () => capacityFor(1, [{ endpoint, limit: 1 }]);
const endpointsOf = (claims: readonly Claim[]) => claims.map(({ lane }) => lane.endpoint);
const sum = (waiting: Waiting) => Object.values(waiting).reduce((total, each) => total + each, 0);

it("claims more than goes at once of what may be sent twice, and hands it on without asking", async () => {
  const { ahead, asked, left } = await underTest({ click: 30 });
  expect(await ahead.claim(all)).toHaveLength(PLACES);
  expect(left.click).toBe(0);
  for (let nth = PLACES; nth < 30; nth++) {
    expect(ahead.isNextPrefetched).toBe(true);
    expect(ahead.next(one("click"))).toHaveLength(1);
  }
  expect(ahead.next(one("click"))).toEqual([]);
  expect(ahead.isNextPrefetched).toBe(false);
  expect(asked).toHaveLength(1);
});

it("claims little ahead at first, and after what it had claimed had to be given back", async () => {
  const { ahead, left, paused } = atFirst({ click: 1_000 });
  const claimed = async () => {
    const before = left.click ?? 0;
    await ahead.claim(all);
    return before - (left.click ?? 0);
  };
  expect(await claimed()).toBe(PLACES + 4);
  while (ahead.next(one("click")).length > 0);
  expect(await claimed()).toBe(PLACES + 8);
  paused.push("click");
  ahead.next(() => capacityFor(2, ["lead/payment"]));
  paused.pop();
  expect(await claimed()).toBe(PLACES + 4);
});

it("claims what may be sent once alone when it goes", async () => {
  const { ahead, left } = await underTest({ "lead/payment": 30 });
  expect(await ahead.claim(all)).toHaveLength(PLACES);
  expect(left["lead/payment"]).toBe(30 - PLACES);
  expect(ahead.next(one("lead/payment"))).toEqual([]);
});

it("hands on in the order in which it has claimed", async () => {
  const { ahead } = await underTest({ click: 20 });
  const first = await ahead.claim(all);
  const others = Array.from({ length: 14 }, () => ahead.next(one("click"))).flat();
  const sources = [...first, ...others]
    .map(({ event }) => event.data)
    .map((data) => "source" in data && data.source);
  expect(sources).toEqual(Array.from({ length: 20 }, (_, nth) => String(nth)));
});

it("asks the store for no more while enough is claimed", async () => {
  const { ahead, asked } = await underTest({ click: 200 });
  await ahead.claim(all);
  await ahead.claim(capacityFor(2, ["registration", "click"]));
  expect(asked[1]?.lanes.filter(({ limit }) => limit > 0).map(({ endpoint }) => endpoint)).toEqual([
    "registration",
  ]);
});

describe("what is more urgent goes first", () => {
  it("what has come since: nothing is handed on before the store was asked", async () => {
    const { ahead, left } = await underTest({ click: 30 });
    await ahead.claim(all);
    left["lead/payment"] = 1;
    ahead.askStoreFirst();
    expect(ahead.isNextPrefetched).toBe(false);
    expect(ahead.next(one("click"))).toEqual([]);
    expect(endpointsOf(await ahead.claim(capacityFor(2, ["lead/payment", "click"])))).toEqual([
      "lead/payment",
      "click",
    ]);
    expect(ahead.next(one("click"))).toHaveLength(1);
  });

  it("what comes while the store is being asked", async () => {
    const { ahead } = await underTest({ click: 30 });
    const claimed = ahead.claim(all);
    ahead.askStoreFirst();
    await claimed;
    expect(ahead.next(one("click"))).toEqual([]);
  });

  it("what the store has more of than there were places, also while there is no place for it", async () => {
    const { ahead } = await underTest({ "lead/payment": 7, click: 30 });
    expect(endpointsOf(await ahead.claim(all))).toEqual([
      ...Array(PLACES).fill("lead/payment"),
      "click",
      "click",
    ]);
    expect(ahead.next(one("click"))).toEqual([]);
    expect(endpointsOf(await ahead.claim(capacityFor(2, ["lead/payment", "click"])))).toEqual([
      "lead/payment",
      "click",
    ]);
    expect(ahead.next(one("click"))).toHaveLength(1);
  });

  it("also where what is less urgent may be sent once alone", async () => {
    const { ahead, left } = await underTest({ "lead/payment": 7, click: 30 }, "click");
    expect(endpointsOf(await ahead.claim(all)).sort()).toEqual([
      "click",
      "click",
      ...Array(PLACES).fill("lead/payment"),
    ]);
    expect(left).toMatchObject({ "lead/payment": 1, click: 28 });
  });

  it("what the store says that is more urgent than what was claimed of its endpoint: this is given back, and claimed again after it", async () => {
    const { ahead, asked, released, outranking } = await underTest({ click: 30 });
    await ahead.claim(all);
    outranking.click = true;
    expect(ahead.next(one("click"))).toEqual([]);
    expect(released).toHaveLength(30 - PLACES);
    outranking.click = false;
    expect(await ahead.claim(capacityFor(1, ["click"]))).toHaveLength(1);
    expect(asked).toHaveLength(2);
  });

  it("what the store finds while it is asked: it is asked once more, for what was given back as well", async () => {
    const { ahead, asked, released, outranking } = await underTest({ click: 30 });
    await ahead.claim(all);
    outranking.onClaim = () => {
      outranking.click = asked.length === 2;
    };
    expect(await ahead.claim(capacityFor(1, ["click"]))).toHaveLength(1);
    expect(released).toHaveLength(30 - PLACES);
    expect(asked).toHaveLength(3);
  });

  it("what has become ready at another endpoint", async () => {
    const { ahead, released, outranking } = await underTest({ click: 30 });
    await ahead.claim(all);
    outranking["lead/payment"] = true;
    expect(ahead.next(one("click"))).toHaveLength(1);
    expect(ahead.next(() => capacityFor(1, ["lead/payment", "click"]))).toEqual([]);
    expect(released).toEqual([]);
  });

  it("what waits at an endpoint that had no lane when the store was asked", async () => {
    const { ahead, left } = await underTest({ click: 30 });
    await ahead.claim(capacityFor(2, ["click"]));
    left.registration = 1;
    expect(ahead.next(() => capacityFor(1, ["registration", "click"]))).toEqual([]);
    expect(endpointsOf(await ahead.claim(capacityFor(1, ["registration", "click"])))).toEqual([
      "registration",
    ]);
  });

  it("what was given back, and not sent", async () => {
    const { ahead } = await underTest({ registration: 1, click: 30 });
    const [registration] = await ahead.claim(all);
    await ahead.settle(registration as Claim, { type: "release" });
    expect(ahead.next(one("click"))).toEqual([]);
  });

  it("what more was claimed of than there were places", async () => {
    const { ahead } = await underTest({ registration: 10, click: 30 });
    expect(endpointsOf(await ahead.claim(all))).toEqual([
      ...Array(PLACES).fill("registration"),
      "click",
      "click",
    ]);
    expect(endpointsOf(ahead.next(() => capacityFor(1, ["registration", "click"])))).toEqual([
      "registration",
    ]);
  });
});

describe("gives back to the store what may not go, and hands none of it on", () => {
  it("where its endpoint is paused", async () => {
    const { ahead, paused, released } = await underTest({ click: 30 });
    await ahead.claim(all);
    paused.push("click");
    expect(ahead.next(() => capacityFor(2, ["lead/payment"]))).toEqual([]);
    expect(released).toHaveLength(30 - PLACES);
    expect(ahead.next(one("click"))).toEqual([]);
  });

  it.each([{ newestFirst: true }, { newWithinMs: 15_000 }, { evenResting: true }])(
    "where its endpoint takes others: %o",
    async (others) => {
      const { ahead, released, left } = await underTest({ click: 30 });
      await ahead.claim(all);
      const lane: Lane = { endpoint: "click", limit: 1, ...others };
      expect(await ahead.claim(capacityFor(2, [lane]))).toHaveLength(1);
      expect(released).toHaveLength(30 - PLACES);
      expect(left.click).toBe(30 - PLACES - 1);
    },
  );

  it("where the engine stops, also what is claimed later", async () => {
    const { ahead, left } = await underTest({ click: 30 });
    await ahead.claim(all);
    expect(ahead.takeUnsent()).toHaveLength(30 - PLACES);
    left.click = 30;
    expect(await ahead.claim(all)).toHaveLength(30);
    expect(ahead.takeUnsent()).toEqual([]);
  });
});

it("keeps what it has claimed while the store fails: what the store cannot be asked for may have to go first", async () => {
  const { ahead, left, state } = await underTest({ click: 30 });
  await ahead.claim(all);
  state.isWell = false;
  left.click = 0;
  expect(ahead.isNextPrefetched).toBe(false);
  expect(ahead.next(one("click"))).toEqual([]);
  expect(await ahead.claim(all)).toEqual([]);
  state.isWell = true;
  expect(ahead.next(one("click"))).toHaveLength(1);
});

it("keeps what it has claimed while its endpoint has no place", async () => {
  const { ahead } = await underTest({ click: 30 });
  await ahead.claim(all);
  expect(ahead.next(() => capacityFor(2, ["lead/payment"]))).toEqual([]);
  expect(ahead.next(one("click"))).toHaveLength(1);
});

test("whatever there is and whatever places there are, each event goes once, none without a place, and a payment as soon as it is claimed", async () => {
  const aLane = fc.record({
    endpoint: fc.constantFrom(...ENDPOINTS),
    limit: fc.integer({ min: 1, max: PLACES }),
    newestFirst: fc.boolean(),
  });
  const aStep = fc.record({
    what: fc.constantFrom("claim", "next", "hold"),
    limit: fc.integer({ min: 1, max: CONCURRENCY }),
    lanes: fc.uniqueArray(aLane, { selector: ({ endpoint }) => endpoint, minLength: 1 }),
  });
  const counts = fc.record(Object.fromEntries(ENDPOINTS.map((name) => [name, fc.nat(100)])));
  await fc.assert(
    fc.asyncProperty(counts, fc.array(aStep, { maxLength: 30 }), async (waiting, steps) => {
      const { ahead, left, asked } = atFirst(waiting);
      const gone: Claim[] = [];
      for (const { what, limit, lanes } of steps) {
        const inOrder = ENDPOINTS.flatMap((name) => lanes.filter(({ endpoint }) => endpoint === name));
        const capacity = capacityFor(limit, inOrder);
        if (what === "hold") ahead.askStoreFirst();
        const went =
          what === "claim" ? await ahead.claim(capacity) : what === "next" ? ahead.next(() => capacity) : [];
        gone.push(...went);
        expect(went.length).toBeLessThanOrEqual(limit);
        for (const lane of inOrder) {
          const ofLane = went.filter(({ lane: { endpoint } }) => endpoint === lane.endpoint);
          expect(ofLane.length).toBeLessThanOrEqual(lane.limit);
        }
      }
      for (const { limit } of asked) expect(limit).toBeGreaterThan(0);
      const paidFor = (waiting["lead/payment"] ?? 0) - (left["lead/payment"] ?? 0);
      expect(endpointsOf(gone).filter((endpoint) => endpoint === "lead/payment")).toHaveLength(paidFor);
      const unsent = ahead.takeUnsent();
      expect(unsent.length).toBeLessThanOrEqual(CONCURRENCY + 64);
      gone.push(...unsent);
      expect(new Set(gone).size).toBe(gone.length);
      expect(gone).toHaveLength(sum(waiting) - sum(left));
    }),
  );
});
