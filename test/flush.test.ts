import { recordingOutbox } from "express-affiliate/testing";
import { expect, test, vi } from "vitest";
import { createJournal } from "../src/journal/journal.js";
import { systemClock } from "../src/shared/clock.js";
import { createShutdown } from "../src/shutdown.js";

const time = vi.hoisted(() => ({ now: 0 }));

// Time is simulated: a sleep ends at once, and moves the clock on unless it was aborted.
vi.mock("../src/shared/real-timers.js", async (original) => ({
  ...(await original<object>()),
  monotonic: () => time.now,
  async sleep<T>(ms: number, value?: T, { signal }: { signal?: AbortSignal } = {}) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!signal?.aborted) time.now += ms;
    return value;
  },
}));

test("flush ends in time if the first look at the outbox fails, and the next one hangs", async () => {
  const look = vi
    .fn()
    .mockRejectedValueOnce(new Error("away"))
    .mockReturnValue(new Promise(() => {}));
  const { flush } = createShutdown({
    outbox: { ...recordingOutbox(), look },
    delivery: { stop() {} },
    transport: { abort() {}, close: async () => {} },
    journal: createJournal({ logger: { warn() {}, error() {} }, clock: systemClock }),
  });
  expect(await flush({ timeoutMs: 5_000 })).toEqual({ settled: false, left: 0 });
  expect(time.now).toBe(5_000);
});
