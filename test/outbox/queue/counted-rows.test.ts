import { expect, test } from "vitest";
import { createCounts } from "../../../src/outbox/queue/counts.js";
import { DESTINATION } from "../../contract/samples.js";

test("rows of one name add up: events without a place yet, and dead letters of each kind", async () => {
  const row = { destination: DESTINATION, number: 1, created_at: 5, bytes: 10, kind: "payment" as const };
  const counts = createCounts(async () => [
    { ...row, name: "payment" },
    { ...row, name: "payment", number: 2, created_at: 3 },
    { ...row, name: "rejected" },
    { ...row, name: "rejected" },
  ]);
  await counts.take();

  expect(counts.current(DESTINATION)).toMatchObject({ queued: 3, oldest: 3, dead: { rejected: 2 } });
  expect(counts.deadBytes(DESTINATION)).toBe(20);
  expect(counts.sizes("payment")).toEqual({ live: { number: 3, bytes: 20 }, dead: { number: 2, bytes: 20 } });
});
