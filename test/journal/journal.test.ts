import { describe, expect, it } from "vitest";
import { createJournal } from "../../src/journal/journal.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { throwing } from "../helpers/throwing.js";
import { makeEvent } from "../helpers/virtual-delivery.js";
import { startJournal } from "./helpers.js";

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

it("the journal masks every address in a notice, whatever is before its @", () => {
  const { journal } = startJournal();
  const data = { ...payment.data, customerEmail: `al"i(c)e,:;<x>@shop.example` };
  const notices: unknown[] = [];
  journal.emitter.on("queued", (notice) => notices.push(notice));
  journal.queued({ ...payment, data } as typeof payment);
  expect(notices).toMatchObject([{ email: "a***@shop.example" }]);
});

it("a listener that throws keeps no other from hearing, and is named in the log", () => {
  const { lines, journal } = startJournal();
  const heard: unknown[] = [];
  journal.emitter.on("delivered", throwing("mine"));
  journal.emitter.on("delivered", (notice) => heard.push(notice));
  journal.delivered(payment, 2);
  expect(heard).toMatchObject([{ id: payment.id, kind: "payment", sessionId: "s", attempts: 2 }]);
  expect(lines).toMatchObject([{ level: "warn", text: 'a listener of "delivered" threw: Error: mine' }]);
});

it("an id that is none is told of, however many unknown fields strangers have sent", () => {
  const { texts, journal } = startJournal();
  for (let nth = 0; nth < 100; nth++) journal.notSent("payment", [`field${nth}`]);
  journal.noId("the cookie `svc_click_id`", "undefined");
  expect(texts().at(-1)).toContain('the cookie `svc_click_id` is the text "undefined"');
});

describe("a wait for an event", () => {
  const isOver = (wait: Promise<void>) =>
    Promise.race([wait.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);

  it.each([
    ["delivered", (journal) => journal.delivered(payment, 1)],
    ["dead", (journal) => journal.dead(payment, { reason: "rejected", attempts: 1 })],
    ["dropped", (journal) => journal.dropped("payment", "full", { event: payment })],
    ["left behind by a tracker that is closed", (journal) => journal.endWaits()],
  ] satisfies [string, (journal: ReturnType<typeof createJournal>) => void][])(
    "ends when it is %s",
    async (_name, happen) => {
      const { journal } = startJournal();
      const wait = journal.ended(payment.id).promise;
      expect(await isOver(wait)).toBe(false);
      journal.retry(payment, 1, 1_000, "500");
      journal.paused("origin", { reason: "failing", because: "500", pausedMs: 0, forMs: 5_000 });
      expect(await isOver(wait)).toBe(false);
      happen(journal);
      expect(await isOver(wait)).toBe(true);
    },
  );

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
  journal.dead(payment, { reason: "rejected", attempts: 1, code: "422", message: "no" });
  journal.dropped("registration", "full", { event: registration });
  journal.dropped("click", "visitor-full", { event: click });
  journal.dropped("click", "dead-letters-full", { event: click });
  expect(lines.map(({ level, text }) => `${level}: ${text}`)).toEqual([
    `warn: the payment "1" (${payment.id}) is now a dead letter: rejected 422 no`,
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
