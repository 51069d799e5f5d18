import { expect, it } from "vitest";
import { askedPauseMs, backoffMs, costlyProbeMs, probeMs } from "../../src/delivery/when-again.js";

it("an event rests 250 ms, and half as long again each time, 15 minutes at most", () => {
  const rests = Array.from({ length: 24 }, (_, n) => Math.round(backoffMs(n + 1, 1)));
  expect(rests.slice(0, 6)).toEqual([250, 375, 563, 844, 1_266, 1_898]);
  expect(rests.slice(-5)).toEqual([554_209, 831_314, 900_000, 900_000, 900_000]);
  expect(backoffMs(Number.MAX_SAFE_INTEGER, 1)).toBe(900_000);
});

it("an event rests between half of that and all of it", () => {
  expect(backoffMs(2, 0)).toBe(187.5);
  expect(backoffMs(2, 0.5)).toBe(281.25);
  expect(backoffMs(2, 1)).toBe(375);
});

it.each([
  ["a tenth of the outage, 1 s to 60 s", probeMs, [1_000, 1_000, 6_000, 60_000]],
  [
    "3.5 times the outage, 45 s to 1 h, if a probe costs a payment",
    costlyProbeMs,
    [45_000, 45_000, 210_000, 3_600_000],
  ],
  ["as long as the service asks, 1 s to 1 h", askedPauseMs, [1_000, 5_000, 60_000, 3_600_000]],
] as const)("delivery probes again after %s", (_name, againMs, expected) => {
  expect([0, 5_000, 60_000, 86_400_000].map(againMs)).toEqual(expected);
});
