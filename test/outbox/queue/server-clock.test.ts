import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createServerClock } from "../../../src/outbox/queue/leases.js";
import { forAny } from "../../helpers/for-any.js";
import { HOUR_MS } from "../../helpers/times.js";

const PATIENCE_MS = 60_000;

/** A process and its server. Each look takes a second on its way there, and one on its way back. */
function looking() {
  let passed = 0;
  let offset = 1_000 * HOUR_MS;
  const clock = createServerClock({ monotonic: () => passed }, PATIENCE_MS);
  return {
    clock,
    real: () => passed + offset,
    pass: (ms: number) => {
      passed += ms;
    },
    set: (ms: number) => {
      offset += ms;
    },
    look: (there = 1_000, back = 1_000) => {
      const askedAt = passed;
      passed += there;
      const now = passed + offset;
      passed += back;
      return clock.tell(now, askedAt);
    },
  };
}

describe("a server's clock", () => {
  test("that nobody sets is never ahead of what is known of it, however long looks take", () => {
    const step = fc.tuple(...[0, 1, 2].map(() => fc.integer({ min: 0, max: HOUR_MS })));

    forAny(fc.array(step), (steps) => {
      const { clock, real, pass, look } = looking();
      look();
      for (const [between, there, back] of steps as [number, number, number][]) {
        pass(between);
        look(there, back);
        expect(clock.latest()).toBeGreaterThanOrEqual(real());
      }
    });
  });

  test.each([5, 31 * 24])("that is set ahead by %i h is believed after a while", (hours) => {
    const { clock, real, pass, set, look } = looking();
    look();
    set(hours * HOUR_MS);

    for (let seconds = 0; seconds < PATIENCE_MS / 1_000; seconds += 10) {
      look();
      expect(clock.latest()).toBeLessThan(real() - hours * HOUR_MS + 10_000);
      pass(8_000);
    }
    look();
    expect(clock.latest()).toBeGreaterThanOrEqual(real());
  });

  test.each([
    ["ahead and back again was never believed", [5, -5]],
    ["back by 5 h is believed at once", [-5]],
    ["back by a month is believed at once", [-31 * 24]],
  ])("that is set %s", (_, steps) => {
    const { clock, real, set, look } = looking();
    look();
    for (const hours of steps) {
      set(hours * HOUR_MS);
      look();
    }
    expect(clock.latest()).toBeLessThan(real() + 5_000);
  });
});
