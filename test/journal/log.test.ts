import type { DeathReason, EventKind } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MOST_OF_A_KIND } from "../../src/journal/log.js";
import { makeEvent } from "../helpers/virtual-delivery.js";
import { startJournal } from "./helpers.js";

const MISTAKES = [
  "`leadValue`: must be a decimal amount, got -5",
  "`paymentId`: must be a string or an integer",
  "`customerEmail`: must be an e-mail address",
  "the attribution must be what `req.affiliate.snapshot()` gave: it threw when it was read",
  "the attribution must be what `req.affiliate.snapshot()` gave: got an array",
];

describe("mistakes within a minute", () => {
  it("have a line each, whatever they are mistakes of", () => {
    const { journal, texts } = startJournal();
    for (const message of MISTAKES) journal.dropped("payment", "invalid", { message });
    expect(texts()).toEqual(MISTAKES.map((message) => `a payment was dropped: ${message}`));
  });

  it("have one line a kind if they differ in a value alone, and the next says how often they were made", async () => {
    const { clock, journal, texts } = startJournal();
    const wrong = (amount: number) =>
      journal.dropped("payment", "invalid", { message: `\`leadValue\` must be an amount, got "${amount}"` });
    for (let amount = -1; amount >= -100; amount--) wrong(amount);
    journal.dropped("registration", "invalid", { message: '`leadValue` must be an amount, got "-1"' });
    await clock.pass(60_000);
    wrong(-101);
    expect(texts()).toEqual([
      'a payment was dropped: `leadValue` must be an amount, got "-1"',
      'a registration was dropped: `leadValue` must be an amount, got "-1"',
      'a payment was dropped: `leadValue` must be an amount, got "-101" (and 99 more that were left out)',
    ]);
    expect(journal.counts.dropped.invalid).toBe(102);
  });

  it("have a line again after a minute if the machine's clock was set back meanwhile", async () => {
    const { clock, lines, journal } = startJournal();
    const dropped = () => journal.dropped("payment", "invalid", { message: "the same" });
    dropped();
    const { now } = clock;
    clock.now = () => now() - 5 * 3_600_000;
    await clock.pass(60_000);
    dropped();
    expect(lines).toHaveLength(2);
  });

  it("have one line if dead letters differ in their names alone", () => {
    const { journal, texts } = startJournal();
    for (let nth = 0; nth < 20; nth++) {
      const message = nth % 2 ? "no such customer" : "no such program";
      const event = makeEvent("payment", { sessionId: "s" }, nth);
      journal.dead(event, { reason: "rejected", attempts: 1, message });
    }
    expect(texts()).toEqual([
      expect.stringContaining("no such program"),
      expect.stringContaining("no such customer"),
    ]);
  });

  it("say how many were left out of the many that there were", async () => {
    const { clock, journal, texts } = startJournal();
    const words = Array.from({ length: MOST_OF_A_KIND + 5 }, (_, nth) => "x".repeat(nth + 1));
    for (const word of words) journal.dropped("click", "invalid", { message: word });
    expect(texts()).toHaveLength(MOST_OF_A_KIND);
    await clock.pass(60_000);
    journal.dropped("click", "invalid", { message: "wrong" });
    expect(texts().at(-1)).toBe("a click was dropped: wrong (and 5 more that were left out)");
  });
});

/** What a stranger's events, and the service's words about them, can make a line of. */
const told = fc.record({
  kind: fc.constantFrom<EventKind>("click", "registration", "payment"),
  how: fc.constantFrom<"invalid" | "full" | DeathReason>("invalid", "full", "rejected", "expired"),
  status: fc.integer({ min: 400, max: 599 }),
  words: fc.string({ unit: "grapheme", maxLength: 30 }),
  afterMs: fc.constantFrom(0, 0, 0, 10, 2_000),
});

it("the log never has more lines within a minute than its bound, whatever strangers send, and has the host's own mistakes all the same", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(told, { minLength: 150, maxLength: 400 }), async (events) => {
      const { clock, lines, journal, texts } = startJournal();
      for (const [nth, { kind, how, status, words, afterMs }] of events.entries()) {
        const message = `${words}${"abcdefghij"[nth % 10]?.repeat(nth % 37)}`;
        if (how === "invalid" || how === "full") journal.dropped(kind, how, { message });
        else journal.dead(makeEvent("click", {}, nth), { reason: how, status, attempts: 1, message });
        await clock.pass(afterMs);
      }
      // Each kind of events that were dropped, and dead letters.
      for (const { at } of lines) {
        const within = lines.filter((other) => other.at >= at && other.at < at + 60_000);
        expect(within.length).toBeLessThanOrEqual(4 * MOST_OF_A_KIND);
      }
      const before = texts().length;
      for (const message of MISTAKES) journal.warn("consent", `\`consent\` threw: ${message}`);
      expect(texts().length - before).toBe(MISTAKES.length);
    }),
    { numRuns: 30 },
  );
});
