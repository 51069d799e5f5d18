import { expect, test } from "vitest";
import { changeOf, countsOf, createCounts } from "../../../src/outbox/queue/counts.js";
import { Scope } from "../../../src/outbox/queue/scope.js";
import { DESTINATION } from "../../contract/samples.js";

test("rows of one name and client id add up: events without a place yet, and dead letters of each kind", async () => {
  const payment = { destination: DESTINATION, kind: "payment" } as const;
  const other = { destination: 43, kind: "payment" } as const;
  const scope = new Scope(DESTINATION);
  const rows = [
    changeOf(payment, "queued", 1, { at: 5, bytes: 10 }),
    changeOf(payment, "queued", 2, { at: 3, bytes: 10 }),
    changeOf(payment, "rejected", 1, { at: 5, bytes: 10 }),
    changeOf(payment, "rejected", 1, { at: 5, bytes: 10 }),
    changeOf(other, "queued", 7, { at: 1, bytes: 10 }),
  ];
  const counts = createCounts(async () => rows, scope);
  await counts.take();

  expect(countsOf(counts.rows, scope)).toMatchObject({ queued: 3, oldest: 3, dead: { rejected: 2 } });
  expect(countsOf(counts.rows, new Scope())).toMatchObject({ queued: 10, oldest: 1 });
  expect([counts.queued(), counts.queued("payment"), counts.queued("click"), counts.dead()]).toEqual([
    3, 3, 0, 2,
  ]);
  expect(counts.deadBytes()).toBe(20);
  expect(counts.sum("bytes", () => true)).toBe(50);
});
