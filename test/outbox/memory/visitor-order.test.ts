import type { Attribution } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type QueueLinks, VisitorOrder } from "../../../src/outbox/memory/visitor-order.js";

class Entry implements QueueLinks {
  clickBefore: this | undefined;
  clickAfter: this | undefined;
  sessionBefore: this | undefined;
  sessionAfter: this | undefined;
  readonly name: number;
  readonly attribution: Attribution;

  constructor(name: number, attribution: Attribution) {
    this.name = name;
    this.attribution = attribution;
  }
}

/** The same, without a thought for speed. */
class PlainOrder {
  readonly #waiting: Entry[] = [];

  isNext(entry: Entry): boolean {
    const { clickId, sessionId } = entry.attribution;
    return !this.#waiting
      .slice(0, this.#waiting.indexOf(entry))
      .some(
        ({ attribution }) =>
          (clickId !== undefined && attribution.clickId === clickId) ||
          (sessionId !== undefined && attribution.sessionId === sessionId),
      );
  }

  enter(entry: Entry): boolean {
    this.#waiting.push(entry);
    return this.isNext(entry);
  }

  leave(entry: Entry): Entry[] {
    const before = this.#waiting.filter((each) => this.isNext(each));
    this.#waiting.splice(this.#waiting.indexOf(entry), 1);
    return this.#waiting.filter((each) => this.isNext(each) && !before.includes(each));
  }
}

const ids = (letter: string) =>
  fc.option(
    fc.integer({ min: 1, max: 3 }).map((n) => `${letter}${n}`),
    { nil: undefined },
  );
const attribution = fc
  .record({ clickId: ids("c"), sessionId: ids("s") })
  .map(({ clickId, sessionId }) => ({ ...(clickId && { clickId }), ...(sessionId && { sessionId }) }));
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ enter: attribution }) },
  { weight: 2, arbitrary: fc.record({ leave: fc.nat() }) },
);

describe("the order of visitors' events", () => {
  it("is right for any order in which events come and leave", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const order = new VisitorOrder<Entry>();
        const plain = new PlainOrder();
        const inside: Entry[] = [];
        for (const [name, each] of steps.entries()) {
          if ("enter" in each) {
            const entry = new Entry(name, each.enter);
            inside.push(entry);
            expect(order.enter(entry, entry.attribution)).toBe(plain.enter(entry));
          } else if (inside.length > 0) {
            const [entry] = inside.splice(each.leave % inside.length, 1) as [Entry];
            const byName = (one: Entry, other: Entry) => one.name - other.name;
            const next = order.leave(entry, entry.attribution).sort(byName);
            expect(next).toEqual(plain.leave(entry).sort(byName));
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("looks at the same few entries, however many wait", () => {
    let looks = 0;
    class Watched extends Entry {
      constructor(name: number, of: Attribution) {
        super(name, of);
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
      const order = new VisitorOrder<Entry>();
      const visitor = { clickId: "c", sessionId: "s" };
      const entries = Array.from({ length: waiting }, (_, name) => new Watched(name, visitor));
      for (const entry of entries) order.enter(entry, visitor);
      looks = 0;
      order.leave(entries[Math.floor(waiting / 2)] as Entry, visitor);
      order.leave(entries[0] as Entry, visitor);
      order.enter(new Watched(waiting, visitor), visitor);
      return looks;
    };
    expect(looksWith(10_000)).toBe(looksWith(10));
  });
});
