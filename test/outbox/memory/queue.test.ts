import type { Attribution, EventKind } from "express-affiliate";
import { expect, it } from "vitest";
import { UNTRIED } from "../../../src/outbox/claim.js";
import { Entry } from "../../../src/outbox/memory/entry.js";
import { Queue } from "../../../src/outbox/memory/queue.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { makeEvent } from "../../helpers/virtual-delivery.js";

const MANY = 2_000;
const NOW = Date.UTC(2025, 0, 1);
const CAPACITY = {
  limit: 2,
  lanes: ENDPOINTS.map((endpoint) => ({ endpoint, limit: 2, newestFirst: endpoint === "click" })),
};

it("the queue in memory looks at the same few events to raise, claim and shed, however many wait", () => {
  let looks = 0;
  class Watched extends Entry {
    constructor(kind: EventKind, number: number, visitor: Attribution) {
      super(makeEvent(kind, visitor, number, NOW), UNTRIED, NOW);
      // biome-ignore lint/correctness/noConstructorReturn: the proxy stands in for it.
      return new Proxy(this, {
        get(entry, key) {
          looks++;
          return entry[key as keyof Entry];
        },
      });
    }
  }

  const looksWith = (waiting: number) => {
    let number = 0;
    const queue = new Queue(() => {});
    const enqueue = (kind: EventKind, visitor: Attribution) => {
      const entry = new Watched(kind, number++, visitor);
      queue.enqueue(entry, NOW);
      return entry;
    };
    const others = Array.from({ length: waiting }, () => enqueue("click", { sessionId: `other-${number}` }));
    const click = enqueue("click", { clickId: "c", sessionId: "s" });
    for (let n = 0; n < waiting; n++) enqueue("registration", { sessionId: `other-${n}` });
    const ofOne = { clickId: "one", sessionId: "one" };
    const [first, ...later] = Array.from({ length: waiting }, () => enqueue("click", ofOne)) as [
      Watched,
      ...Watched[],
    ];

    looks = 0;
    const payment = enqueue("payment", { sessionId: "s" });
    const [mostUrgent, next] = queue.claim(CAPACITY, NOW);
    expect(mostUrgent).toBe(click);
    queue.release(click);
    queue.rest(next as Entry);
    expect(queue.unclaimed("registration").next().value).toBe(others[0]);
    queue.remove(click, NOW);
    expect(queue.claim(CAPACITY, NOW)[0]).toBe(payment);
    queue.remove(later[waiting / 2] as Entry, NOW);
    queue.remove(first, NOW);
    enqueue("click", ofOne);
    return looks;
  };
  expect(looksWith(MANY)).toBe(looksWith(100));
});
