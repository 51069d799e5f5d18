import type { Attribution, EventKind } from "express-affiliate";
import { expect, it } from "vitest";
import { Entry, Queues } from "../../../src/outbox/memory/queues.js";
import { capacityOf } from "../../helpers/deliver.js";
import { makeEvent } from "../../helpers/virtual-delivery.js";

const MANY = 2_000;

it("the queues in memory look at the same few events to add, claim and shed, however many wait", () => {
  let looks = 0;
  class Watched extends Entry {
    constructor(kind: EventKind, number: number, visitor: Attribution) {
      super(makeEvent(kind, visitor, number));
      // biome-ignore lint/correctness/noConstructorReturn: the proxy stands in for it.
      return new Proxy(this, {
        get(entry, key, proxy) {
          looks++;
          return Reflect.get(entry, key, proxy);
        },
      });
    }
  }

  const looksWith = (waiting: number) => {
    let number = 0;
    const queues = new Queues(() => {});
    const append = (kind: EventKind, visitor: Attribution) => {
      const entry = new Watched(kind, number++, visitor);
      queues.append(entry, 0);
      return entry;
    };
    const claim = () => queues.claim(capacityOf(1), 0).map(({ entry }) => entry);
    const others = Array.from({ length: waiting }, () => append("click", { sessionId: `other-${number}` }));
    const click = append("click", { clickId: "c", sessionId: "s" });
    for (let n = 0; n < waiting; n++) append("registration", { sessionId: `other-${n}` });

    looks = 0;
    const payment = append("payment", { sessionId: "s" });
    expect(claim()).toEqual([click]);
    queues.become(click, "resting");
    expect(claim()).toEqual([others[0]]);
    queues.become(others[0] as Watched, "untried", true);
    expect(queues.unclaimed("registration").next().value).toBe(others[0]);
    queues.remove(click, 0);
    queues.remove(others[waiting / 2] as Watched, 0);
    expect(claim()).toEqual([payment]);
    return looks;
  };
  expect(looksWith(MANY)).toBe(looksWith(100));
});
