import type { Attribution, EventKind } from "express-affiliate";
import { expect, it } from "vitest";
import { Entry } from "../../../src/outbox/memory/entry.js";
import { Queue } from "../../../src/outbox/memory/queue.js";
import { UNTRIED } from "../../../src/outbox/outbox.js";
import { ENDPOINTS } from "../../../src/service/endpoints.js";
import { makeEvent } from "../../helpers/virtual-delivery.js";

const MANY = 20_000;
const NOW = Date.UTC(2025, 0, 1);
const CAPACITY = {
  destination: 42,
  limit: 2,
  lanes: ENDPOINTS.map((endpoint) => ({ endpoint, limit: 2, newestFirst: endpoint === "click" })),
};

it("looks at the same few events to raise, claim and shed, however many wait", () => {
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
    const join = (kind: EventKind, visitor: Attribution) => {
      const entry = new Watched(kind, number++, visitor);
      queue.join(entry, NOW);
      return entry;
    };
    const others = Array.from({ length: waiting }, () => join("click", { sessionId: `other-${number}` }));
    const click = join("click", { clickId: "c", sessionId: "s" });
    for (let n = 0; n < waiting; n++) join("registration", { sessionId: `other-${n}` });

    looks = 0;
    const payment = join("payment", { sessionId: "s" });
    const [first, second] = queue.claim(CAPACITY, NOW);
    expect(first).toBe(click);
    queue.release(click);
    queue.rest(second as Entry);
    expect(queue.idle("registration").next().value).toBe(others[0]);
    queue.leave(click, NOW);
    expect(queue.claim(CAPACITY, NOW)[0]).toBe(payment);
    return looks;
  };
  expect(looksWith(MANY / 2)).toBe(looksWith(100));
});
