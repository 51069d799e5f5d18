import { expect, it } from "vitest";
import { backoffMs } from "../../src/delivery/backoff.js";

it("rests 1, 2, 4, … seconds, 15 minutes at most", () => {
  const rests = Array.from({ length: 14 }, (_, n) => backoffMs(n + 1, 1) / 1_000);
  expect(rests).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]);
});

it("rests between half of that and all of it", () => {
  expect(backoffMs(3, 0)).toBe(2_000);
  expect(backoffMs(3, 0.5)).toBe(3_000);
  expect(backoffMs(3, 1)).toBe(4_000);
});

it("rests 15 minutes after however many attempts", () => {
  for (const attempt of [100, 1_023, 1_024, 5_000, Number.MAX_SAFE_INTEGER]) {
    expect(backoffMs(attempt, 1)).toBe(900_000);
  }
});
