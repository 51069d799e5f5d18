import { expect, test } from "vitest";
import { loginSessionId } from "../../src/conversion/visitor-ids.js";
import type { Circuit, Circuits } from "../../src/outbox/circuits.js";
import { textOf } from "../../src/outbox/circuits.js";
import { memoryOutbox } from "../../src/outbox/memory/memory-outbox.js";
import { FakeClock } from "../helpers/fake-clock.js";
import { scratchDirectory } from "../helpers/scratch.js";
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

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** Processes of one fleet, each with a queue of its own, on a storage that has their circuits. */
function startFleet(reply: (path: string) => Reply) {
  const clock = new FakeClock();
  const service = new VirtualService(clock, ({ path }) => reply(path));
  const stored = new Map<string, Circuit>();
  const trouble = { fails: false };
  const circuits: Circuits = {
    async read() {
      if (trouble.fails) throw new Error("the storage fails");
      return { now: clock.now(), circuits: Object.fromEntries(stored) };
    },
    async replace({ endpoint, known, next }) {
      if (trouble.fails) throw new Error("the storage fails");
      const before = stored.get(endpoint);
      if ((before && textOf(before)) !== (known && textOf(known))) return false;
      if (next) stored.set(endpoint, next);
      else stored.delete(endpoint);
      return true;
    },
  };
  let visitors = 0;
  const startProcess = () => {
    const process = startDelivery({
      clock,
      service,
      confirmReferral: "login-session",
      createOutbox: () => Object.assign(memoryOutbox({}, clock), { circuits }),
    });
    return { ...process, pay: () => process.add("payment", { sessionId: `visitor-${visitors++}` }) };
  };
  const startProcesses = (number: number) => Array.from({ length: number }, startProcess);
  /** A payment each second, at one process after the other. */
  async function payFor(seconds: number, fleet: readonly ReturnType<typeof startProcess>[]): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await fleet[second % fleet.length]?.pay();
      await clock.pass(SECOND_MS);
    }
  }
  const paymentsSent = () => service.posts.filter(({ call }) => call.path.endsWith("/lead/payment")).length;
  return { clock, service, stored, trouble, startProcess, startProcesses, payFor, paymentsSent };
}

const swallowing = (path: string) => (path.endsWith("/lead/payment") ? hanging : yes);

test.each([1, 3, 8])(
  "%d processes send at most 9 payments together in the first hour to an endpoint that swallows them",
  async (number) => {
    const { startProcesses, payFor, paymentsSent } = startFleet(swallowing);
    await payFor(3_600, startProcesses(number));

    expect(paymentsSent()).toBeGreaterThan(2);
    expect(paymentsSent()).toBeLessThanOrEqual(9);
  },
);

test("a payment that is skipped, as the service knows of no affiliate, delays no payment after one that had no answer", async () => {
  const { clock, service, stored, startProcess } = startFleet((path) =>
    path.includes("/status/") ? says(200, { body: { success: true, hasAffiliate: false } }) : hanging,
  );
  const [one, other] = [startProcess(), startProcess()];
  await one.pay();
  await clock.pass(15 * SECOND_MS);
  expect(stored.size).toBe(1);
  await other.outbox.add(makeEvent("payment", { sessionId: loginSessionId("1") }, 1_000, clock.now()));
  await clock.pass(SECOND_MS);
  expect(other.outbox.counts().queued).toBe(0);

  service.reply = () => yes;
  const { id } = await other.pay();
  await clock.pass(5 * SECOND_MS);
  expect(service.takenAt.has(id)).toBe(true);
});

test("4 processes that start at the same moment with payments that wait send at most 9 together in the first hour", async () => {
  const { clock, startProcesses, paymentsSent } = startFleet(swallowing);
  for (const { pay } of startProcesses(4)) for (let nth = 0; nth < 50; nth++) await pay();

  await clock.pass(HOUR_MS);

  expect(paymentsSent()).toBeLessThanOrEqual(9);
});

test("a process that starts again every five minutes sends at most 9 payments in the first hour", async () => {
  const { clock, startProcess, paymentsSent } = startFleet(swallowing);
  for (let restart = 0; restart < 12; restart++) {
    const { delivery, pay } = startProcess();
    for (let nth = 0; nth < 30; nth++) {
      await pay();
      await clock.pass(10 * SECOND_MS);
    }
    delivery.stop();
  }

  expect(paymentsSent()).toBeLessThanOrEqual(9);
});

test("on the disk outbox, 3 processes that start again every ten minutes hold at most 9 payments in the first hour, and one each that was under way before it saw the others'", async () => {
  const clock = new FakeClock();
  const service = new VirtualService(clock, ({ path }) => swallowing(path));
  const directory = scratchDirectory();
  let visitors = 0;
  let nth = 0;
  let queued = 0;
  for (let start = 0; start < 6; start++) {
    const fleet = Array.from({ length: 3 }, () => {
      const owner = `process ${nth++}`;
      return startDelivery({ clock, service, createOutbox: () => virtualDisk(clock, { directory, owner }) });
    });
    for (let turn = 0; turn < 120; turn++) {
      const event = makeEvent("payment", { sessionId: `visitor-${visitors}` }, visitors++, clock.now());
      await fleet[turn % 3]?.outbox.add(event);
      await clock.pass(5 * SECOND_MS);
    }
    for (const { delivery } of fleet) delivery.stop();
    // What is under way ends; nothing else begins.
    await clock.pass(10 * SECOND_MS);
    queued = fleet[0]?.outbox.counts().queued as number;
    for (const { outbox } of fleet) await outbox.close();
  }

  expect(queued).toBeGreaterThan(700);
  expect(visitors - queued).toBeLessThanOrEqual(9 + 3);
}, 60_000);

test("one process finds that the endpoint has recovered, and the others go on", async () => {
  const { clock, service, stored, startProcesses, payFor } = startFleet(swallowing);
  const fleet = startProcesses(3);
  await payFor(600, fleet);
  service.reply = () => yes;

  await clock.pass(4 * 600 * SECOND_MS);

  for (const { outbox } of fleet) expect(outbox.counts().queued).toBe(0);
  expect(stored.size).toBe(0);
});

test("a process finds the recovery within a tenth of the outage", async () => {
  const { clock, service, stored, startProcesses, payFor } = startFleet(swallowing);
  const fleet = startProcesses(2);
  await payFor(100, fleet);
  service.reply = () => yes;
  stored.clear();

  await clock.pass(12 * SECOND_MS);

  for (const { outbox } of fleet) expect(outbox.counts().queued).toBe(0);
});

test("an endpoint that has swallowed payments, and answers 500 then, is found again within a minute", async () => {
  const { clock, service, startProcesses, payFor } = startFleet(swallowing);
  const fleet = startProcesses(3);
  await payFor(100, fleet);
  service.reply = ({ path }) => (path.endsWith("/lead/payment") ? says(500) : yes);
  await payFor(1_200, fleet);
  service.reply = () => yes;

  await clock.pass(70 * SECOND_MS);

  for (const { outbox } of fleet) expect(outbox.counts().queued).toBe(0);
});

test("a slow endpoint that answers costs nothing, and leaves nothing behind", async () => {
  const slow: Reply = { taken: true, afterMs: 3_000, status: 200, body: { success: true } };
  const { clock, stored, startProcesses, payFor } = startFleet(() => slow);
  const fleet = startProcesses(3);
  await payFor(300, fleet);
  await clock.pass(60 * SECOND_MS);

  for (const { outbox } of fleet)
    expect(outbox.counts()).toMatchObject({ queued: 0, dead: { unconfirmed: 0 } });
  expect(stored.size).toBe(0);
});

test("if the storage of the circuits fails, a process goes by what it has itself seen", async () => {
  const { trouble, startProcesses, payFor, paymentsSent } = startFleet(swallowing);
  trouble.fails = true;
  await payFor(3_600, startProcesses(1));

  expect(paymentsSent()).toBeLessThanOrEqual(9);
});

test("a storage whose clock was set back by a year delays no probe", async () => {
  const { clock, service, stored, startProcess } = startFleet(swallowing);
  const year = 365 * 24 * HOUR_MS;
  const later = clock.now() + year;
  stored.set("lead/payment", { since: later, attempts: 5, failed: true, probeAt: later, hurriedAt: 0 });
  service.reply = () => yes;
  const { outbox, pay } = startProcess();
  await pay();

  await clock.pass(SECOND_MS);

  expect(outbox.counts().queued).toBe(0);
});
