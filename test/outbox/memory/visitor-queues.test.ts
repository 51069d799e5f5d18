import type { Attribution } from "express-affiliate";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type QueueLinks, VisitorQueues } from "../../../src/outbox/memory/visitor-queues.js";

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
class PlainQueues {
  readonly #waiting: Entry[] = [];

  isHead(entry: Entry): boolean {
    const { clickId, sessionId } = entry.attribution;
    return !this.#waiting
      .slice(0, this.#waiting.indexOf(entry))
      .some(
        ({ attribution }) =>
          (clickId !== undefined && attribution.clickId === clickId) ||
          (sessionId !== undefined && attribution.sessionId === sessionId),
      );
  }

  add(entry: Entry): boolean {
    this.#waiting.push(entry);
    return this.isHead(entry);
  }

  remove(entry: Entry): Entry[] {
    const before = this.#waiting.filter((each) => this.isHead(each));
    this.#waiting.splice(this.#waiting.indexOf(entry), 1);
    return this.#waiting.filter((each) => this.isHead(each) && !before.includes(each));
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
  { weight: 3, arbitrary: fc.record({ add: attribution }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat() }) },
);

it("the order of visitors' events is right for any order in which events are added and removed", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queues = new VisitorQueues<Entry>();
      const plain = new PlainQueues();
      const inside: Entry[] = [];
      for (const [name, each] of steps.entries()) {
        if ("add" in each) {
          const entry = new Entry(name, each.add);
          inside.push(entry);
          expect(queues.enqueue(entry, entry.attribution)).toBe(plain.add(entry));
        } else if (inside.length > 0) {
          const [entry] = inside.splice(each.remove % inside.length, 1) as [Entry];
          const byName = (one: Entry, other: Entry) => one.name - other.name;
          const heads = queues.remove(entry, entry.attribution).sort(byName);
          expect(heads).toEqual(plain.remove(entry).sort(byName));
        }
      }
    }),
    { numRuns: 2_000 },
  );
});
