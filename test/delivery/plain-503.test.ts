import { describe, expect, it } from "vitest";
import { says, startDelivery } from "../helpers/virtual-delivery.js";

// A 503 without Retry-After: the service fails, and asks for nothing.
const failing = says(503);
const MINUTE_MS = 60_000;

describe("an event that a plain 503 answers", () => {
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
