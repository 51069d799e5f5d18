import type { EventKind, Outbox, OutboxEvent } from "express-affiliate";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { IF_MAYBE_TAKEN } from "../../src/conversion/kinds.js";
import type { DeliveryJournal } from "../../src/delivery/attempts.js";
import { createDelivery } from "../../src/delivery/delivery.js";
import { memoryOutbox } from "../../src/outbox/memory/memory-outbox.js";
import { callsFor } from "../../src/service/calls.js";
import type { Transport } from "../../src/service/transport.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { removeScratchDirectories } from "../helpers/scratch.js";
import { makeEvent, refused, says, VirtualService, yes } from "../helpers/virtual-delivery.js";
import { virtualDisk } from "../helpers/virtual-disk.js";

const SEAMS = [
  ...["referral", "call", "send", "rejection", "left", "answered", "claim"],
  ...["journal", "unanswered", "random", "hide", "now", "monotonic", "after"],
] as const;
type Seam = (typeof SEAMS)[number];

const JOURNAL_CALLS: readonly (keyof DeliveryJournal)[] = [
  ...(["attempt", "delivered", "skipped", "retry", "dead"] as const),
  ...(["paused", "resumed", "refused", "unconfirmed", "log", "once"] as const),
];

const KINDS: readonly EventKind[] = ["click", "registration", "payment"];

/** An outbox, delivery and service as they are, between which anything may throw. */
function started(createOutbox: (clock: FakeClock) => Outbox) {
  const clock = new FakeClock();
  const service = new VirtualService(clock, ({ method }) =>
    method === "GET" ? { ...yes, body: { hasAffiliate: true } } : yes,
  );
  const outbox = createOutbox(clock);
  const armed = new Map<Seam, number>();
  const fired = new Map<Seam, number>();
  let isOff = false;

  function fire(seam: Seam): void {
    const left = armed.get(seam) ?? 0;
    if (left === 0 || isOff) return;
    armed.set(seam, left - 1);
    fired.set(seam, (fired.get(seam) ?? 0) + 1);
    throw new Error(`thrown by ${seam}`);
  }

  /** The same function, which may throw first. */
  const mined =
    <Args extends unknown[], Result>(seam: Seam, call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      fire(seam);
      return call(...args);
    };

  /** The same methods, each of which may throw first. */
  function minedAll<T extends object>(seam: (name: keyof T) => Seam, object: T): T {
    const methods = Object.entries(object).map(([name, method]) => [
      name,
      mined(seam(name as keyof T), method.bind(object)),
    ]);
    return Object.fromEntries(methods);
  }

  const transport: Pick<Transport, "send"> = {
    async send(call, options = {}) {
      fire("rejection");
      if (options.mayLeave && !options.mayLeave()) throw new Error("a claim was lost");
      fire("left");
      const attempt = await service.transport.send(call, {});
      fire("answered");
      return attempt;
    },
  };
  const { now, monotonic, after } = clock;
  const { unanswered } = outbox;
  const delivery = createDelivery({
    ...{ concurrency: 8, maxAgeMs: 72 * 3_600_000 },
    confirmReferral: "always",
    ambiguous: IF_MAYBE_TAKEN,
    transport: minedAll(() => "send", transport),
    calls: minedAll((name) => (name === "status" ? "referral" : "call"), callsFor(1)),
    keyOf: mined("call", ({ id }) => id),
    journal: Object.fromEntries(JOURNAL_CALLS.map((name) => [name, () => fire("journal")])) as never,
    unanswered: unanswered && mined("unanswered", unanswered),
    clock: minedAll((name) => name, { now, monotonic, after }),
    onCapacity: () => outbox.wake(),
    random: mined("random", () => 0.5),
    hide: mined("hide", (text) => text),
  });
  outbox.start(
    {
      ...delivery,
      // Not in an attempt: here the relay would have thrown.
      capacity() {
        isOff = true;
        const capacity = delivery.capacity();
        isOff = false;
        return capacity;
      },
      get endpoints() {
        return delivery.endpoints;
      },
      deliver: (claim) =>
        delivery.deliver({ ...claim, isHeld: mined("claim", () => claim.isHeld?.() ?? true) }),
    } as typeof delivery,
    { dropped() {}, degraded() {}, recovered() {} },
  );
  let number = 0;
  async function add(kind: EventKind): Promise<OutboxEvent> {
    const nth = number++;
    const event = makeEvent(kind, { clickId: `c${nth}`, sessionId: `s${nth}` }, nth, clock.now());
    await outbox.add(event);
    return event;
  }

  return { clock, service, outbox, delivery, armed, fired, add };
}

const shots = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    seam: fc.option(fc.constantFrom(...SEAMS)),
    times: fc.integer({ min: 1, max: 3 }),
    afterMs: fc.integer({ min: 0, max: 60 }),
  }),
  { minLength: 1, maxLength: 16 },
);

describe.each<[string, (clock: FakeClock) => Outbox, numRuns: number]>([
  ["the memory outbox", (clock) => memoryOutbox({}, clock), 100],
  ["the disk outbox", (clock) => virtualDisk(clock), 10],
])("whatever throws in an attempt at an event of %s", (_name, createOutbox, numRuns) => {
  afterEach(removeScratchDirectories);

  it("its slot is free again, nothing that was not sent is held, and later events are as if nothing was", async () => {
    await fc.assert(
      fc.asyncProperty(shots, async (shot) => {
        const { clock, service, outbox, delivery, armed, fired, add } = started(createOutbox);
        const events: OutboxEvent[] = [];
        for (const { kind, seam, times, afterMs } of shot) {
          if (seam) armed.set(seam, times);
          events.push(await add(kind));
          await clock.pass(afterMs);
        }
        await clock.pass(5_000);
        armed.clear();
        await clock.pass(15_000);

        const { queued, dead } = outbox.counts();
        expect([queued, delivery.inFlight]).toEqual([0, 0]);
        // A request that may have left is in doubt. What cannot be made is given up. Nothing else
        // is lost, or held.
        const inDoubt = (fired.get("left") ?? 0) + (fired.get("answered") ?? 0);
        const unmade = (fired.get("call") ?? 0) + (fired.get("referral") ?? 0);
        expect(dead.unconfirmed).toBeLessThanOrEqual(inDoubt);
        expect(dead.rejected).toBeLessThanOrEqual(unmade);
        expect(dead.expired).toBe(0);
        const letters = await outbox.deadLetters.list();
        const given = new Set(letters.map(({ id }) => id));
        for (const { id } of events) expect(service.takenAt.has(id) || given.has(id)).toBe(true);
        const payments = events.filter(({ kind }) => kind === "payment").map(({ id }) => id);
        for (const id of payments) expect(service.taken.filter((each) => each === id).length).toBeLessThan(2);

        const later = await Promise.all(KINDS.map(add));
        await clock.pass(100);
        for (const { id } of later) expect(service.takenAt.has(id)).toBe(true);
        const { limit, lanes } = delivery.capacity();
        expect([limit, ...lanes.map((lane) => lane.limit)]).toEqual([8, 6, 6, 6, 6]);
        await outbox.close();
      }),
      { numRuns },
    );
  });

  // Without a clock that works, no time comes.
  it.each(SEAMS.filter((seam) => !["left", "answered", "monotonic", "after"].includes(seam)))(
    "what %s throws in an outage, or as it ends, makes it last no longer",
    async (seam) => {
      const { clock, service, outbox, delivery, armed, add } = started(createOutbox);
      const answers = service.reply;
      for (const reply of [refused, says(503)]) {
        for (const isOfAll of [true, false]) {
          // Of the status endpoint alone: then no event is known to be referred.
          service.reply = (call) => (isOfAll || call.method === "GET" ? reply : answers(call));
          for (const kind of KINDS) await add(kind);
          for (let ms = 0; ms < 10_000; ms += 500) {
            armed.set(seam, 1);
            await clock.pass(500);
          }
          service.reply = answers;
          armed.set(seam, 1);
          await clock.pass(5_000);
          armed.clear();
          await clock.pass(10_000);
          expect([outbox.counts().queued, delivery.inFlight]).toEqual([0, 0]);
          expect(Object.values(delivery.endpoints).map(({ state }) => state)).not.toContain("paused");
        }
      }
      await outbox.close();
    },
  );

  it("a call that can never be made is a dead letter that says why", async () => {
    const { clock, outbox, armed, add } = started(createOutbox);
    for (const seam of ["referral", "call"] as const) {
      armed.set(seam, 1);
      await add("payment");
      await clock.pass(100);
    }
    expect(await outbox.deadLetters.list()).toMatchObject([
      { reason: "rejected", message: "thrown by referral" },
      { reason: "rejected", message: "thrown by call" },
    ]);
    await outbox.close();
  });
});
