import { describe, expect, it } from "vitest";
import { type Claim, UNTRIED, type Verdict } from "../../src/outbox/outbox.js";
import { type ClaimSource, createRelay } from "../../src/outbox/relay.js";
import { delivering, deliveringAll } from "../helpers/deliver.js";
import { makeEvent, startDelivery } from "../helpers/virtual-delivery.js";

const turns = async (count = 5) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const live = (number: number): Claim => ({
  event: makeEvent("payment", {}, number),
  lane: { endpoint: "lead/payment", limit: 8 },
  history: { ...UNTRIED, attempts: 2 },
  interrupted: false,
  queuedAt: 0,
});

/** A store that hands out what it is given, and writes down what it is told. */
function plainStore({ asynchronous = false, waiting = [] as Claim[] } = {}) {
  const settled: Verdict[] = [];
  const limits: number[] = [];
  const store: ClaimSource<Claim> = {
    claim({ limit }) {
      limits.push(limit);
      const claimed = waiting.splice(0, limit);
      return asynchronous ? turns(2).then(() => claimed) : claimed;
    },
    settle(_claim, verdict) {
      settled.push(verdict);
      return asynchronous ? turns(1) : undefined;
    },
  };
  return { store, settled, limits, waiting };
}

const unheard = (error: unknown): unknown => Promise.reject(error);

const oneAtATime = deliveringAll(() => 1);

function startRelay(store: ClaimSource<Claim>, deliver = deliveringAll(), onError = unheard) {
  const relay = createRelay(store, onError);
  relay.start(deliver);
  return relay;
}

describe.each([
  ["answers at once", false],
  ["takes its time", true],
])("the relay, with a store that %s", (_name, asynchronous) => {
  it("loses no wake that comes while it is claiming", async () => {
    const { store, settled, waiting } = plainStore({ asynchronous });
    const relay = startRelay(store);
    for (let n = 0; n < 30; n++) {
      // At every phase of the claim that may be under way.
      waiting.push(live(n));
      relay.wake();
      await turns(n % 4);
    }
    await turns(20);
    expect(settled).toHaveLength(30);
  });

  it("claims once a turn, however often it is woken, and not at all without capacity", async () => {
    const { store, limits } = plainStore({ asynchronous });
    let limit = 0;
    const limited = deliveringAll(() => limit);
    const relay = startRelay(store, limited);
    await turns(50);
    expect(limits).toEqual([]);
    limit = 8;
    for (let n = 0; n < 1_000; n++) relay.wake();
    await turns(10);
    expect(limits).toEqual([8]);
  });

  it("releases what it is handed after it was stopped", async () => {
    const { store, settled } = plainStore({ asynchronous: true, waiting: [live(1)] });
    const relay = startRelay(store, oneAtATime);
    await turns(1);
    await relay.stop();
    expect(settled).toEqual([{ type: "release" }]);
  });

  it("gives an event up whose `deliver` breaks its word and rejects: how far it got is unknown", async () => {
    const { store, settled } = plainStore({ asynchronous, waiting: [live(1), live(2)] });
    const errors: unknown[] = [];
    const broken = { ...oneAtATime, deliver: () => Promise.reject(new Error("broken")) };
    startRelay(store, broken, (error) => errors.push(error));
    await turns(10);
    expect(settled).toEqual(Array(2).fill({ type: "dead", reason: "unconfirmed", attempts: 3 }));
    expect(errors).toHaveLength(2);
  });

  it("goes on at the next wake when a claim or a verdict could not be written down", async () => {
    const { store, settled } = plainStore({ asynchronous, waiting: [live(1), live(2)] });
    const errors: unknown[] = [];
    const fail = (): never => {
      throw new Error("disk");
    };
    let trouble = 2;
    const degraded: ClaimSource<Claim> = {
      claim: (capacity) => (trouble-- > 1 ? fail() : store.claim(capacity)),
      settle: (claim, verdict) => (trouble-- === 0 ? fail() : store.settle(claim, verdict)),
    };
    const relay = startRelay(degraded, oneAtATime, (error) => errors.push(error));
    await turns(10);
    relay.wake();
    await turns(20);
    expect(errors).toHaveLength(2);
    expect(settled).toHaveLength(1);
    await relay.stop();
  });
});

it.each([
  {
    when: "once its verdict is stored: what waited behind may be the most urgent then",
    isInOrder: false,
    expected: "claim 2, send, claim 1, send, settle, settle, stored, claim 1, stored, claim 2",
  },
  {
    when: "with its verdict from a store in order, before the claimed events are sent, and not again once the verdict is stored",
    isInOrder: true,
    expected: "claim 2, claim 1, send, send, settle, settle, claim 2, stored, stored",
  },
])("the relay claims for a slot $when", async ({ isInOrder, expected }) => {
  const happened: string[] = [];
  const stored: (() => void)[] = [];
  const attempts: ((verdict: Verdict) => void)[] = [];
  const waiting = [live(1), live(2)];
  const store: ClaimSource<Claim> = {
    isInOrder,
    async claim({ limit }) {
      happened.push(`claim ${limit}`);
      await turns(1);
      return waiting.splice(0, 1);
    },
    settle() {
      happened.push("settle");
      return new Promise<void>((resolve) => stored.push(resolve));
    },
  };
  let slots = 2;
  const deliver = delivering(
    async () => {
      slots--;
      await undefined;
      happened.push("send");
      return new Promise((resolve) => attempts.push(resolve));
    },
    () => slots,
  );
  const relay = startRelay(store, deliver);
  await turns(1);
  relay.wake();
  await turns();
  slots = 2;
  for (const end of attempts) end({ type: "delivered" });
  await turns();
  for (const resolve of stored) {
    happened.push("stored");
    resolve();
    await turns();
  }

  expect(happened.join(", ")).toBe(expected);
});

it("an event that is handed over has its slot at once, and is sent a microtask later", async () => {
  const { delivery, service } = startDelivery();
  void delivery.deliver(live(1));
  expect([delivery.capacity().limit, service.sent.length]).toEqual([7, 0]);
  await turns(1);
  expect(service.sent).toHaveLength(1);
});

it("the relay has the last verdict before it is stored, and reports none that is not", async () => {
  let end = (_isStored: boolean) => {};
  const told: unknown[] = [];
  const settle = () => new Promise<boolean>((resolve) => (end = resolve));
  const waiting = [live(1)];
  const deliver = { ...deliveringAll(), settled: (event: unknown) => told.push(event) };
  const relay = startRelay({ claim: () => waiting.splice(0), settle }, deliver);
  await turns();
  expect(relay.idle).toBe(false);

  await relay.stop();
  end(false);
  await turns();

  expect(told).toEqual([]);
});
