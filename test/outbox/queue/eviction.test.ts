import type { EventKind } from "express-affiliate";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LEAST_URGENT_FIRST } from "../../../src/conversion/kinds.js";
import type { Death } from "../../../src/outbox/dead-letters.js";
import { changeOf, createCounts } from "../../../src/outbox/queue/counts.js";
import type { Evicted } from "../../../src/outbox/queue/dead-letters.js";
import { createEviction } from "../../../src/outbox/queue/eviction.js";
import { asciiJson } from "../../../src/outbox/queue/rows.js";
import { Scope } from "../../../src/outbox/queue/scope.js";
import { DESTINATION, largeSample } from "../../contract/samples.js";

const DEATH: Death = { reason: "rejected", attempts: 1 };

/** Dead letters in an array, if others would be in a table. */
function boxOf(bounds: { max: number; maxBytes: number }) {
  const rows: Evicted[] = [];
  const evicted: Evicted[] = [];
  const counts = createCounts(async () => [], new Scope(DESTINATION));
  const count = ({ event, size }: Evicted, number: 1 | -1) =>
    counts.add(changeOf(event, DEATH.reason, number, { bytes: number * size }));
  const onDeath = createEviction({
    ...bounds,
    counts,
    async remove(kind, limit) {
      const removed = rows.filter(({ event }) => event.kind === kind).slice(0, limit);
      for (const each of removed) {
        rows.splice(rows.indexOf(each), 1);
        count(each, -1);
      }
      evicted.push(...removed);
      return removed;
    },
    onEvicted() {},
  });
  async function die(kind: EventKind, length = 0): Promise<Evicted> {
    const event = largeSample(kind, length);
    const size = asciiJson(event.data).length + asciiJson(DEATH).length;
    const row = { event, size };
    rows.push(row);
    count(row, 1);
    await onDeath(size);
    return row;
  }
  return { rows, evicted, counts, count, die };
}

const deaths = fc.array(fc.tuple(fc.constantFrom(...LEAST_URGENT_FIRST), fc.nat(2_000)), { maxLength: 50 });

test("the eviction of dead letters stays within its bounds, and drops no payment while there is anything else", async () => {
  await fc.assert(
    fc.asyncProperty(deaths, async (steps) => {
      const { rows, evicted, counts, die } = boxOf({ max: 8, maxBytes: 8_000 });
      for (const [kind, length] of steps) {
        const before = evicted.length;
        await die(kind, length);
        expect(rows.length).toBeLessThanOrEqual(8);
        expect(counts.dead()).toBe(rows.length);
        expect(counts.deadBytes()).toBe(rows.reduce((sum, { size }) => sum + size, 0));
        expect(counts.deadBytes()).toBeLessThanOrEqual(8_000);
        const last = evicted.slice(before).at(-1)?.event.kind;
        const left = rows.map(({ event }) => LEAST_URGENT_FIRST.indexOf(event.kind));
        if (last) expect(Math.min(...left, 2)).toBeGreaterThanOrEqual(LEAST_URGENT_FIRST.indexOf(last));
      }
    }),
  );
});

test("the eviction of dead letters drops no more than come if there are more than its bounds allow", async () => {
  const { rows, count, evicted, die } = boxOf({ max: 2, maxBytes: 2_000 });
  const { event, size } = await die("payment", 500);
  // Another process, or a command, has added them.
  for (let nth = 0; nth < 20; nth++) {
    rows.push({ event, size });
    count({ event, size }, 1);
  }
  await die("payment", 500);
  expect([rows.length, evicted.length]).toEqual([21, 1]);
});
