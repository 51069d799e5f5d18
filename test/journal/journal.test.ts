import type { DeathReason, EventKind } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createJournal, type Journal } from "../../src/journal/journal.js";
import { MOST_OF_A_KIND } from "../../src/journal/log.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { times } from "../helpers/for-any.js";
import { makeEvent } from "../helpers/virtual-delivery.js";

/** A journal, and what it logs: when, at which level, and the line without the package's name. */
function startJournal() {
  const clock = new FakeClock();
  const lines: { readonly at: number; readonly level: string; readonly text: string }[] = [];
  const keep = (level: string) => (line: string) =>
    lines.push({ at: clock.now(), level, text: line.replace(/^express-affiliate: /, "") });
  const journal = createJournal({ logger: { warn: keep("warn"), error: keep("error") }, clock });
  return { clock, lines, journal, texts: () => lines.map(({ text }) => text) };
}

const payment = makeEvent("payment", { sessionId: "s" }, 1);

describe("the log", () => {
  it("is written by a logger that has only `warn` and `error`", () => {
    const { lines, journal } = startJournal();
    journal.skipped("click", "bot");
    journal.resumed("origin", 0);
    expect(lines).toEqual([]);
    expect(journal.counts.skipped.bot).toBe(1);
  });

  it("has warnings in the `warning` of a logger with syslog's levels, which has no `warn`", () => {
    const lines: string[] = [];
    const syslog = { warning: (line: string) => lines.push(line), error() {} };
    const journal = createJournal({ logger: syslog as never, clock: new FakeClock() });
    journal.dropped("click", "invalid", { message: "wrong" });
    expect(lines).toEqual(["express-affiliate: a click was dropped: wrong"]);
  });

  it("is written through the logger's own `this`", () => {
    class Own {
      readonly #lines: string[] = [];
      readonly count = () => this.#lines.length;
      warn(line: string) {
        this.#lines.push(line);
      }
      error = this.warn;
    }
    const logger = new Own();
    const journal = createJournal({ logger, clock: new FakeClock() });
    journal.log("error", "something");
    expect(logger.count()).toBe(1);
  });
});

describe("a wait for an event", () => {
  const isOver = (wait: Promise<void>) =>
    Promise.race([wait.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);

  it.each([
    ["delivered", (journal) => journal.delivered(payment, 1)],
    ["dead", (journal) => journal.dead(payment, { reason: "rejected", attempts: 1 })],
    ["dropped", (journal) => journal.dropped("payment", "full", { event: payment })],
    ["left behind by a tracker that is closed", (journal) => journal.endWaits()],
  ] satisfies [string, (journal: Journal) => void][])("ends when it is %s", async (_name, happen) => {
    const { journal } = startJournal();
    const wait = journal.ended(payment.id).promise;
    expect(await isOver(wait)).toBe(false);
    journal.retry(payment, 1, 1_000, "500");
    journal.paused("origin", { reason: "failing", because: "500", pausedMs: 0, forMs: 5_000 });
    expect(await isOver(wait)).toBe(false);
    happen(journal);
    expect(await isOver(wait)).toBe(true);
  });

  it("ends at the first attempt that failed, if that is enough", async () => {
    const { journal } = startJournal();
    const retried = journal.ended(payment.id, { orAttempted: true }).promise;
    const another = journal.ended("another", { orAttempted: true });
    journal.retry(payment, 1, 1_000, "500");
    expect([await isOver(retried), await isOver(another.promise)]).toEqual([true, false]);
    another.cancel();
    expect(await isOver(another.promise)).toBe(true);
  });
});

it("a line about one event names it as the host does, and by its id; a notice `dropped` says why, too", () => {
  const { lines, journal } = startJournal();
  const dropped: { reason: string; message: string }[] = [];
  journal.emitter.on("dropped", (notice) => dropped.push(notice as (typeof dropped)[number]));
  const registration = makeEvent("registration", { sessionId: "s" }, 7);
  const click = makeEvent("click", { sessionId: "s" }, 3);
  journal.emitter.on("dead", (notice) => expect(Object(notice).code).toBe("with a***@shop.example"));
  journal.dead(payment, { reason: "rejected", attempts: 1, code: "with ada@shop.example", message: "no" });
  journal.dropped("registration", "full", { event: registration });
  journal.dropped("click", "visitor-full", { event: click });
  journal.dropped("click", "dead-letters-full", { event: click });
  expect(lines.map(({ level, text }) => `${level}: ${text}`)).toEqual([
    `warn: the payment "1" (${payment.id}) is now a dead letter: rejected with a***@shop.example no`,
    `warn: the registration "7" (${registration.id}) was dropped: the outbox is full, and a more urgent event came`,
    `warn: the click (${click.id}) was dropped: too many clicks of its visitor wait, and a newer one came`,
    `warn: the click (${click.id}) was dropped: it was a dead letter, of which the outbox keeps no more, and a newer one came`,
  ]);
  expect(dropped.map(({ reason }) => reason)).toEqual(["full", "visitor-full", "dead-letters-full"]);
  for (const [nth, { message }] of dropped.entries())
    expect(lines[nth + 1]?.text).toMatch(`dropped: ${message}`);
});

describe("the events that it has not heard the end of", () => {
  const payments = Array.from({ length: 10_000 }, (_, nth) => makeEvent("payment", { sessionId: "s" }, nth));

  it("are counted until they are delivered", () => {
    const { journal } = startJournal();
    for (const each of payments) journal.queued(each);
    expect(journal.withoutOutcome).toBe(10_000);
    for (const each of payments) journal.delivered(each, 1);
    expect(journal.withoutOutcome).toBe(0);
  });

  it("are of the last 10,000: one that another process has delivered is not counted for ever", () => {
    const { journal } = startJournal();
    journal.queued(makeEvent("payment", { sessionId: "s" }, 10_001));
    for (const each of payments) {
      journal.queued(each);
      journal.delivered(each, 1);
    }
    expect(journal.withoutOutcome).toBe(0);
  });
});

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

  it("have a notice each, which names what the host tried to report", () => {
    const { journal } = startJournal();
    const named: unknown[] = [];
    journal.emitter.on("dropped", (notice) => void named.push(Object(notice).hostId));
    for (const hostId of ["order-1", "order-2", undefined])
      journal.dropped("payment", "invalid", { message: "wrong", hostId });
    expect(named).toEqual(["order-1", "order-2", undefined]);
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
  await times(30).forAnyAsync(fc.array(told, { minLength: 150, maxLength: 400 }), async (events) => {
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
  });
});
