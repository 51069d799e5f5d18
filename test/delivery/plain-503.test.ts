import { describe, expect, it } from "vitest";
import { makeEvent, type Reply, says, startDelivery } from "../helpers/virtual-delivery.js";

// A 503 without Retry-After: the service fails, and asks for nothing.
const failing = says(503);
const MINUTE_MS = 60_000;

describe("an event that a plain 503 answers", () => {
  it.each([0, 30_000, 10 * MINUTE_MS])(
    "rests 187.5 ms after the first, although it has waited for %i ms",
    async (waitedMs) => {
      const { clock, outbox, noticesOf } = startDelivery({ reply: () => failing });
      await outbox.add(makeEvent("payment", { sessionId: "s" }, 1, clock.now() - waitedMs));
      await clock.pass(100);
      expect(noticesOf("retry")).toMatchObject([{ attempts: 1, inMs: 187.5 }]);
    },
  );

  it("rests half as long again after each, up to 15 minutes, if it is its visitor's alone", async () => {
    const { clock, service, add, noticesOf } = startDelivery({ reply: () => failing });
    await add("payment", { sessionId: "s" });
    await clock.pass(5 * 60 * MINUTE_MS);

    const rests = noticesOf("retry").map(({ inMs }) => inMs as number);
    // Half to all of 250 ms, 375 ms, 563 ms, … 15 min: the test's random number is a half.
    expect(rests.slice(0, 4)).toEqual([187.5, 281.25, 421.875, 632.8125]);
    expect(rests.slice(20, 23).map(Math.round)).toEqual([623_486, 675_000, 675_000]);
    const times = service.posts.map(({ at }) => at);
    for (const [nth, at] of times.slice(1).entries()) {
      const restedMs = at - failing.afterMs - (times[nth] ?? 0);
      // The clock's time is whole.
      expect(Math.abs(restedMs - (rests[nth] ?? 0))).toBeLessThanOrEqual(1);
    }
  });
});

describe("an endpoint that answers a plain 503 to all", () => {
  /** For how long it gets no event after an answer that comes when it has failed for so long. */
  async function restAfter(failedMs: number): Promise<number> {
    const times: number[] = [];
    const reply = (): Reply => {
      const now = rig.clock.monotonic();
      times.push(now);
      const left = (times[0] ?? 0) + failedMs - now;
      // The last probe before that moment is answered then.
      return left > 0 && left <= Math.max(1_000, failedMs / 10) ? { ...failing, afterMs: left } : failing;
    };
    const rig = startDelivery({ reply });
    for (const sessionId of ["anna", "ben"]) await rig.add("payment", { sessionId });
    await rig.clock.pass(failedMs + 2 * MINUTE_MS);

    expect(rig.noticesOf("paused")).toHaveLength(1);
    const answeredAt = (times[0] ?? 0) + failedMs;
    return (times.find((at) => at > answeredAt) ?? 0) - answeredAt;
  }

  it.each([
    [2_000, 1_000],
    [30_000, 3_000],
    [5 * MINUTE_MS, 30_000],
    [10 * MINUTE_MS, 60_000],
    [60 * MINUTE_MS, 60_000],
  ])("gets no event after %i ms for %i ms: a tenth, 1 s to 60 s", async (failedMs, restMs) => {
    expect(await restAfter(failedMs)).toBeCloseTo(restMs, 6);
  });
});
