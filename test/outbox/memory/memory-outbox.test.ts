import type { EventKind, OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryOutbox } from "../../../src/outbox/memory/memory-outbox.js";
import type { Claim, OutboxObserver, Verdict } from "../../../src/outbox/outbox.js";
import { heapSizeOf } from "../../../src/outbox/shedding.js";
import { largeSample, sample, stranger, withData } from "../../contract/samples.js";
import { retryIn } from "../../contract/stage.js";
import { delivering, deliveringAll } from "../../helpers/deliver.js";
import { FakeClock } from "../../helpers/fake-clock.js";
import { times } from "../../helpers/for-any.js";
import { heapAtRest } from "../../helpers/heap.js";
import { makeEvent } from "../../helpers/virtual-delivery.js";

const DIED: Verdict = { type: "dead", reason: "rejected", attempts: 1 };
const silent: OutboxObserver = { dropped() {}, degraded() {}, recovered() {} };

/** An outbox whose events are held by their delivery until the test says what became of each. */
function start(options: Parameters<typeof memoryOutbox>[0], limit = 0) {
  const clock = new FakeClock();
  const outbox = memoryOutbox(options, clock);
  const dropped: string[] = [];
  const underWay: { event: OutboxEvent; settle: (verdict: Verdict) => void }[] = [];
  const hold = ({ event }: Claim) =>
    new Promise<Verdict>((settle) => {
      underWay.push({ event, settle });
    });
  const deliver = delivering(hold, () => limit - underWay.length);
  outbox.start(deliver, { ...silent, dropped: ({ kind }, reason) => dropped.push(`${kind} ${reason}`) });
  let number = 0;
  const add = (kind: EventKind, attribution = {}) =>
    outbox.add(makeEvent(kind, attribution, number++, clock.now()));
  const settle = async (verdict: Verdict) => {
    await clock.pass(0);
    underWay.shift()?.settle(verdict);
    await clock.pass(0);
  };
  return { clock, outbox, add, dropped, underWay, settle };
}

describe("a memory outbox that is full", () => {
  it.each(["click", "registration", "payment"] as const)("holds about its bytes of %ss", async (kind) => {
    const maxBytes = 8 * 1024 * 1024;
    const { add } = start({ maxBytes });
    const before = await heapAtRest();
    let nth = 0;
    const addAnother = () => add(kind, { clickId: `click-${++nth}`, sessionId: `session-${nth}` });
    while ((await addAnother()) === "queued");
    const taken = (await heapAtRest()) - before;
    expect(taken).toBeGreaterThan(0.6 * maxBytes);
    expect(taken).toBeLessThan(1.2 * maxBytes);
  });

  it.each(["click", "payment"] as const)("keeps dead %ss within half of its bytes", async (kind) => {
    const maxBytes = 8 * 1024 * 1024;
    const { add, outbox, settle, dropped } = start({ maxBytes, maxDeadLetters: 100_000 }, 1);
    const before = await heapAtRest();
    for (let nth = 0; dropped.length === 0; nth++) {
      await add(kind, { clickId: `click-${nth}`, sessionId: `session-${nth}` });
      await settle({ ...DIED, message: "no such program" });
    }
    const taken = (await heapAtRest()) - before;
    expect(dropped).toEqual([`${kind} dead-letters-full`]);
    expect(taken).toBeGreaterThan(0.5 * (maxBytes / 2));
    expect(taken).toBeLessThan(1.3 * (maxBytes / 2));
    expect(outbox.counts().dead.rejected).toBeGreaterThan(1_000);
  });

  it("drops all dead clicks that a large dead letter takes the space of, and no payment", async () => {
    const { add, outbox, settle, dropped } = start({ maxBytes: 10_000 }, 1);
    for (const kind of ["payment", "click", "click", "click"] as const) {
      await add(kind);
      await settle(DIED);
    }
    await add("click");
    await settle({ ...DIED, message: "m".repeat(2_500) });
    expect(dropped).toEqual(["click dead-letters-full", "click dead-letters-full"]);
    expect((await outbox.deadLetters.list()).map(({ kind }) => kind)).toEqual(["payment", "click", "click"]);
  });

  it("sheds no dead letter if it is full of events, and not of bytes", async () => {
    const { add, outbox, settle, dropped } = start({ maxEvents: 2 }, 1);
    await add("click");
    await settle(DIED);
    expect(await add("registration")).toBe("queued");
    expect(await add("click")).toBe("queued");
    expect(await add("payment")).toBe("queued");
    expect(dropped).toEqual(["click full"]);
    expect(outbox.counts().dead.rejected).toBe(1);
  });

  it.each([
    { where: "all the same", payments: 0, large: largeSample("registration", 20_000) },
    { where: "beside those of its kind", payments: 10, large: largeSample("payment", 8_000) },
  ])("sheds nothing for an event that would not fit $where", async ({ payments, large }) => {
    const { outbox, add, dropped } = start({ maxBytes: 10_000 });
    await add("click");
    for (let n = 0; n < payments; n++) await add("payment");
    expect(await outbox.add(large)).toBe("full");
    expect(dropped).toEqual([]);
  });

  it.each([
    { of: "events", limits: { maxEvents: 100, maxBytes: 100_000 } },
    { of: "bytes", limits: { maxBytes: 100 * heapSizeOf(sample("click")) } },
  ])(
    "has a click take the place of the oldest of its visitor's 100 if it is full of $of, and drops none if it would not fit there",
    async ({ limits }) => {
      const { outbox, dropped } = start(limits);
      const visitor = stranger();
      for (let n = 0; n < 101; n++) expect(await outbox.add(sample("click", visitor))).toBe("queued");
      expect(dropped).toEqual(["click visitor-full"]);
      const large = withData(sample("click", visitor), { clickedUrl: "x".repeat(50_000) });
      expect(await outbox.add(large)).toBe("full");
      expect(dropped).toHaveLength(1);
      expect(outbox.counts().queued).toBe(100);
    },
  );

  it("counts two bytes for each character of a text that is not Latin-1", () => {
    const event = makeEvent("registration", {}, 1);
    const named = (customerName: string) =>
      heapSizeOf({ ...event, data: { ...event.data, customerName } } as OutboxEvent);
    expect(named("Ελένη".repeat(100)) - named("é".repeat(500))).toBe(500);
  });

  it("minds no observer that comes back with an event while it sheds", async () => {
    const outbox = memoryOutbox({ maxEvents: 3 });
    let number = 100;
    outbox.start(
      deliveringAll(() => 0),
      { ...silent, dropped: () => void outbox.add(makeEvent("payment", {}, number++)) },
    );
    for (let n = 0; n < 3; n++) await outbox.add(makeEvent("click", {}, n));
    await outbox.add(makeEvent("payment", {}, 50));
    await new Promise(setImmediate);
    expect(outbox.counts().queued).toBe(3);
    expect(await outbox.add(makeEvent("payment", {}, 51))).toBe("full");
    await outbox.close();
  });

  it("never holds more than its bounds, whatever comes and goes", async () => {
    const kinds = fc.constantFrom<EventKind>("click", "registration", "payment");
    const visitors = fc.constantFrom(
      {},
      { clickId: "a" },
      { clickId: "a", sessionId: "s" },
      { sessionId: "s" },
    );
    const verdicts = fc.constantFrom<Verdict>(
      { type: "delivered" },
      retryIn(1_000),
      { type: "release" },
      DIED,
    );
    await times(60).forAnyAsync(
      fc.array(fc.tuple(kinds, visitors, verdicts), { maxLength: 60 }),
      async (steps) => {
        const { clock, outbox, add, underWay, dropped } = start({ maxEvents: 5, maxDeadLetters: 3 }, 2);
        let queued = 0;
        for (const [kind, visitor, verdict] of steps) {
          if ((await add(kind, visitor)) === "queued") queued++;
          await clock.pass(300);
          if (underWay.length === 2) underWay.shift()?.settle(verdict);
          const { dead, queued: waiting } = outbox.counts();
          expect(waiting).toBeLessThanOrEqual(5);
          expect(dead.rejected).toBeLessThanOrEqual(3);
        }
        // Nothing is lost on the way but what was shed: all the rest can still be delivered.
        for (let rounds = 0; rounds < 30; rounds++) {
          await clock.pass(1_000);
          for (const { settle } of underWay.splice(0)) settle({ type: "delivered" });
        }
        expect(outbox.counts().queued).toBe(0);
        expect(dropped.length).toBeLessThanOrEqual(queued);
      },
    );
  });

  it("takes no memory for what it shed from behind an event that rests", async () => {
    const { add, settle, dropped } = start({}, 1);
    await add("payment", { sessionId: "resting" });
    await settle(retryIn(1e12));
    let clickId = 0;
    const goThrough = async (rounds: number) => {
      for (let round = 0; round < rounds; round++)
        await add("click", { sessionId: "resting", clickId: String(++clickId) });
    };
    await goThrough(1_000);
    const before = await heapAtRest();
    await goThrough(20_000);
    expect(dropped.length).toBe(20_900);
    dropped.length = 0;
    expect((await heapAtRest()) - before).toBeLessThan(2_000_000);
  });
});

describe("a memory outbox", () => {
  it("remembers the last `maxEvents` that it is done with, and no more", async () => {
    const { outbox, settle } = start({ maxEvents: 3 }, 1);
    const events = Array.from({ length: 4 }, (_, nth) => makeEvent("payment", {}, nth));
    for (const event of events) {
      expect(await outbox.add(event)).toBe("queued");
      await settle({ type: "delivered" });
    }
    const again = [];
    for (const event of events.reverse()) again.push(await outbox.add(event));
    expect(again).toEqual(["duplicate", "duplicate", "duplicate", "queued"]);
  });

  it("erases a dead letter that is retried meanwhile", async () => {
    const { outbox, settle } = start({}, 1);
    const [payment, registration] = [makeEvent("payment", {}, 1), makeEvent("registration", {}, 1)];
    await outbox.add(payment);
    await settle(DIED);
    for (const event of [makeEvent("payment", {}, 2), registration]) await outbox.add(event);
    const erased = outbox.erase({ email: "1@shop.example" });
    // Until its search waits for what comes from outside.
    for (let turn = 0; turn < 20; turn++) await undefined;
    await outbox.deadLetters.retry(payment.id);
    expect(await erased).toBe(2);
  });

  it("says what is wrong with its options", () => {
    expect(() => memoryOutbox({ maxEvents: 0 })).toThrow(/memoryOutbox.*maxEvents.*positive integer/);
    expect(() => memoryOutbox({ maxEvent: 1 } as never)).toThrow(/did you mean `maxEvents`/);
  });

  it("waits for a payment's time, however long, and no more once it is closed", async () => {
    const clock = new FakeClock();
    const dayMs = 24 * 60 * 60 * 1_000;
    const after: FakeClock["after"] = (ms, task) => clock.after(Math.min(ms, 24 * dayMs), task);
    const outbox = memoryOutbox({}, { ...clock, after });
    const due = (days: number) => withData(sample("payment"), { notBefore: clock.now() + days * dayMs });
    for (const days of [100, 60]) await outbox.add(due(days));
    await clock.pass(59 * dayMs);
    expect(outbox.counts().scheduled).toEqual({ count: 2, next: clock.now() + dayMs });
    await clock.pass(dayMs);
    expect(outbox.counts()).toMatchObject({ queued: 2, scheduled: { count: 1 }, oldest: clock.now() });
    await outbox.close();
    expect(clock.pending).toBe(0);
  });

  it("sets no timer once it is closed", async () => {
    const { add, clock, outbox, underWay } = start({}, 1);
    await add("click");
    await clock.pass(0);
    const closed = outbox.close();
    underWay[0]?.settle(retryIn(60_000, { maybeTaken: true }));
    await closed;
    expect(clock.pending).toBe(0);
    expect(outbox.counts().queued).toBe(1);
  });
});
