import type { Attribution, OutboxEvent } from "express-affiliate";
import { afterEach, expect, test } from "vitest";
import { namesOf } from "../../src/conversion/events.js";
import { loginSessionId } from "../../src/conversion/visitor-ids.js";
import { memoryOutbox } from "../../src/outbox/memory/memory-outbox.js";
import type { Deliver, Outbox, OutboxObserver } from "../../src/outbox/outbox.js";
import { seeded } from "../contract/order.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { removeScratchDirectories, scratchDirectory } from "../helpers/scratch.js";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../helpers/times.js";
import {
  hanging,
  makeEvent,
  type Reply,
  says,
  startDelivery,
  VirtualService,
  yes,
} from "../helpers/virtual-delivery.js";
import { virtualDisk } from "../helpers/virtual-disk.js";

afterEach(removeScratchDirectories);

type Process = ReturnType<typeof startDelivery> & {
  readonly pay: (visitor?: Attribution) => Promise<OutboxEvent>;
  /** The state of the endpoint of payments. */
  readonly endpoint: () => string;
};

/**
 * Outboxes in memory that show what rows would: the events that were held since one was delivered,
 * and the other processes' claims. Of eight processes, a file takes minutes for each hour.
 */
function sharedMemory(clock: FakeClock): () => Outbox {
  let held: { at: number; names: readonly string[] }[] = [];
  const claims = new Map<number, { of: Outbox; names: readonly string[] }>();
  let claimed = 0;
  return () => {
    const outbox = memoryOutbox({}, clock);
    const { start } = outbox;
    const watched = (deliver: Deliver): Deliver => ({
      ...deliver,
      async deliver(claim) {
        const number = ++claimed;
        const names = namesOf(claim.event);
        claims.set(number, { of: outbox, names });
        const verdict = await deliver.deliver(claim);
        claims.delete(number);
        if (verdict.type === "delivered") held = [];
        if (verdict.type === "dead") held.push({ at: clock.now(), names });
        return verdict;
      },
    });
    return Object.assign(outbox, {
      unanswered: async () => ({
        held: held.map(({ at, names }) => ({ names, agoMs: clock.now() - at })),
        underWay: [...claims].flatMap(([number, { of, names }]) =>
          of === outbox ? [] : [{ number, names }],
        ),
      }),
      start: (deliver: Deliver, observer: OutboxObserver) => start(watched(deliver), observer),
    });
  };
}

let processes = 0;

/** Disk outboxes on one directory. */
function sharedDirectory(clock: FakeClock, directory = scratchDirectory()): () => Outbox {
  // Seldom: looks take a test longer than all else.
  return () => virtualDisk(clock, { directory, owner: `process ${processes++}`, lookMs: 10 * SECOND_MS });
}

let visitors = 0;

/** Processes in virtual time, on one storage. */
function startFleet(
  reply: (path: string) => Reply,
  createOutboxes: (clock: FakeClock) => () => Outbox = sharedMemory,
  clock = new FakeClock(),
) {
  const service = new VirtualService(clock, ({ path }) => reply(path));
  const createOutbox = createOutboxes(clock);
  let started = 0;

  function startProcess(): Process {
    const process = startDelivery({
      ...{ clock, service, createOutbox, random: seeded(started++) },
      confirmReferral: "login-session",
    });
    const pay = async (visitor?: Attribution) => {
      const nth = visitors++;
      const event = makeEvent("payment", visitor ?? { sessionId: `visitor-${nth}` }, nth, clock.now());
      await process.outbox.add(event);
      return event;
    };
    const endpoint = () => process.delivery.endpoints["lead/payment"].state;
    return { ...process, pay, endpoint };
  }

  return {
    ...{ clock, service },
    startProcesses: (number: number) => Array.from({ length: number }, startProcess),
    /** Payments of new visitors, at one process after the other. */
    async payFor(ms: number, fleet: readonly Process[], everyMs = 5 * SECOND_MS): Promise<void> {
      for (let nth = 0; nth < ms / everyMs; nth++) {
        await fleet[nth % fleet.length]?.pay();
        await clock.pass(everyMs);
      }
    },
    paymentsSent: () => service.posts.filter(({ call }) => call.path.endsWith("/lead/payment")).length,
    async end(fleet: readonly Process[]): Promise<void> {
      for (const { delivery } of fleet) delivery.stop();
      // What is under way ends; nothing else begins.
      await clock.pass(10 * SECOND_MS);
      for (const { outbox } of fleet) await outbox.close();
    },
  };
}

const swallowing = (path: string) => (path.endsWith("/lead/payment") ? hanging : yes);

const queuedIn = (fleet: readonly Process[]) => fleet.map(({ outbox }) => outbox.counts().queued);

// Of several processes, each may have what it sends before it sees the others'.
test.each([
  [3, 9],
  [8, 9 + 8],
])(
  "%d processes send at most %d payments in the first hour to an endpoint that swallows them, then one an hour",
  async (number, most) => {
    const { startProcesses, payFor, paymentsSent } = startFleet(swallowing);
    const fleet = startProcesses(number);
    await payFor(HOUR_MS, fleet);
    const sent = paymentsSent();
    expect(sent).toBeGreaterThan(2);
    expect(sent).toBeLessThanOrEqual(most);

    await payFor(3 * HOUR_MS, fleet, 5 * MINUTE_MS);
    expect(paymentsSent()).toBeGreaterThan(sent);
    expect(paymentsSent()).toBeLessThanOrEqual(sent + 3);
  },
  60_000,
);

test("8 processes whose endpoint takes payments, and swallows them then, send at most 9 and one each", async () => {
  const { service, startProcesses, payFor, paymentsSent } = startFleet(() => yes);
  const fleet = startProcesses(8);
  await payFor(20 * SECOND_MS, fleet, 200);
  expect(paymentsSent()).toBe(100);
  service.reply = ({ path }) => swallowing(path);

  await payFor(MINUTE_MS / 2, fleet, 200);
  await payFor(HOUR_MS, fleet, MINUTE_MS);

  expect(paymentsSent() - 100).toBeLessThanOrEqual(9 + 8);
}, 60_000);

test("4 processes that start at the same moment with payments that wait send at most 9 in the first hour", async () => {
  const { clock, startProcesses, paymentsSent } = startFleet(swallowing);
  for (const { pay } of startProcesses(4)) for (let nth = 0; nth < 20; nth++) await pay();

  await clock.pass(HOUR_MS);

  expect(paymentsSent()).toBeLessThanOrEqual(9);
}, 60_000);

test("on the disk outbox, 3 processes that start again every quarter of an hour send at most 9 payments in the first", async () => {
  const { startProcesses, payFor, paymentsSent, end } = startFleet(swallowing, sharedDirectory);
  for (let start = 0; start < 4; start++) {
    const fleet = startProcesses(3);
    await payFor(15 * MINUTE_MS, fleet, 15 * SECOND_MS);
    await end(fleet);
  }

  expect(paymentsSent()).toBeGreaterThan(3);
  expect(paymentsSent()).toBeLessThanOrEqual(9);
}, 60_000);

test("one process finds that the endpoint has recovered, and the others go on", async () => {
  const { clock, service, startProcesses, payFor, end } = startFleet(swallowing, sharedDirectory);
  const fleet = startProcesses(3);
  await payFor(2 * MINUTE_MS, fleet);
  expect(fleet.map(({ endpoint }) => endpoint())).toEqual(Array(3).fill("paused"));
  service.reply = () => yes;

  for (let waited = 0; service.taken.length === 0 && waited < 8 * MINUTE_MS; waited += SECOND_MS)
    await clock.pass(SECOND_MS);
  await clock.pass(MINUTE_MS);

  expect(fleet.map(({ endpoint }) => endpoint())).toEqual(Array(3).fill("open"));
  expect(queuedIn(fleet)).toEqual([0, 0, 0]);
  await end(fleet);
}, 60_000);

test("an endpoint that has swallowed payments, and answers 500 then, is found again within a minute", async () => {
  const { clock, service, startProcesses, payFor } = startFleet(swallowing);
  const fleet = startProcesses(3);
  await payFor(100 * SECOND_MS, fleet);
  service.reply = ({ path }) => (path.endsWith("/lead/payment") ? says(500) : yes);
  await payFor(20 * MINUTE_MS, fleet);
  service.reply = () => yes;

  await clock.pass(2 * MINUTE_MS);

  expect(queuedIn(fleet)).toEqual([0, 0, 0]);
}, 60_000);

test("if all but the last two letters of an outage were discarded, 4 processes try no payment; if all were, one each", async () => {
  const { clock, startProcesses, payFor, paymentsSent, end } = startFleet(swallowing, sharedDirectory);
  const fleet = startProcesses(4);
  await payFor(10 * MINUTE_MS, fleet);
  const { deadLetters } = (fleet[0] as Process).outbox;
  const before = paymentsSent();
  const letters = (await deadLetters.list()).map(({ id }) => id);
  for (const id of letters.slice(0, -2)) await deadLetters.discard(id);
  await clock.pass(MINUTE_MS);
  expect(paymentsSent()).toBe(before);

  for (const id of letters.slice(-2)) await deadLetters.discard(id);
  await clock.pass(MINUTE_MS);

  expect(paymentsSent() - before).toBeGreaterThan(0);
  expect(paymentsSent() - before).toBeLessThanOrEqual(4);
  await end(fleet);
});

test("a payment waits for no strangers' whose answers were lost in two other processes, 16 s apart", async () => {
  const { clock, service, startProcesses, payFor } = startFleet(swallowing);
  const fleet = startProcesses(3);
  await payFor(32 * SECOND_MS, fleet.slice(0, 2), 16 * SECOND_MS);
  service.reply = () => yes;
  const { id } = await (fleet[2] as Process).pay();
  await clock.pass(5 * SECOND_MS);

  expect(service.takenAt.has(id)).toBe(true);
});

test("a payment waits for none of one visitor's, whatever ids each has, though their answers were lost", async () => {
  for (const createOutboxes of [sharedMemory, sharedDirectory]) {
    const { clock, service, startProcesses, end } = startFleet(swallowing, createOutboxes);
    const fleet = startProcesses(2) as [Process, Process];
    const [clickId, sessionId] = ["click", "session"];
    for (const ids of [{ clickId }, { clickId, sessionId }, { sessionId }, { sessionId }, { sessionId }]) {
      await fleet[0].pay(ids);
      await clock.pass(10 * SECOND_MS + 1);
    }
    expect(fleet[0].outbox.counts()).toMatchObject({ queued: 0, dead: { unconfirmed: 5 } });
    service.reply = () => yes;
    const paid = [await fleet[0].pay(), await fleet[1].pay()];
    await clock.pass(5 * SECOND_MS);
    expect(paid.map(({ id }) => service.takenAt.has(id))).toEqual([true, true]);
    await end(fleet);
  }
});

test("a slow endpoint that answers costs nothing, and is not paused", async () => {
  const slow: Reply = { taken: true, afterMs: 3_000, status: 200, body: { success: true } };
  const { clock, startProcesses, payFor } = startFleet(() => slow);
  const fleet = startProcesses(3);
  await payFor(5 * MINUTE_MS, fleet, SECOND_MS);
  await clock.pass(MINUTE_MS);

  for (const { outbox } of fleet)
    expect(outbox.counts()).toMatchObject({ queued: 0, dead: { unconfirmed: 0 } });
  expect(fleet.map(({ endpoint }) => endpoint())).toEqual(Array(3).fill("open"));
}, 60_000);

test("a payment that is skipped, as the service knows of no affiliate, delays no payment after one that had no answer", async () => {
  const { clock, service, startProcesses } = startFleet(
    (path) =>
      path.includes("/status/") ? says(200, { body: { success: true, hasAffiliate: false } }) : hanging,
    sharedDirectory,
  );
  const [one, other] = startProcesses(2) as [Process, Process];
  await one.pay();
  await clock.pass(15 * SECOND_MS);
  await other.outbox.add(makeEvent("payment", { sessionId: loginSessionId("1") }, visitors++, clock.now()));
  await clock.pass(SECOND_MS);
  expect(other.outbox.counts().queued).toBe(0);

  service.reply = () => yes;
  const { id } = await other.pay();
  await clock.pass(5 * SECOND_MS);
  expect(service.takenAt.has(id)).toBe(true);
});

test("if nothing can be read from the storage, a process goes by what it has itself seen", async () => {
  const unanswered = () => Promise.reject(new Error("the storage fails"));
  const failing = (clock: FakeClock) => () => Object.assign(memoryOutbox({}, clock), { unanswered });
  const { startProcesses, payFor, paymentsSent } = startFleet(swallowing, failing);
  await payFor(HOUR_MS, startProcesses(1));

  expect(paymentsSent()).toBeLessThanOrEqual(9);
}, 60_000);

test("a storage whose clock was set back by a year delays no payment", async () => {
  const directory = scratchDirectory();
  const createOutboxes = (clock: FakeClock) => sharedDirectory(clock, directory);
  const later = new FakeClock();
  await later.pass(365 * 24 * HOUR_MS);
  const before = startFleet(swallowing, createOutboxes, later);
  const fleet = before.startProcesses(1);
  await before.payFor(MINUTE_MS, fleet);
  await before.end(fleet);

  const { clock, service, startProcesses } = startFleet(() => yes, createOutboxes);
  const [process] = startProcesses(1) as [Process];
  const { id } = await process.pay();
  await clock.pass(SECOND_MS);

  expect(service.takenAt.has(id)).toBe(true);
});
