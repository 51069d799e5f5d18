import { setTimeout as sleep } from "node:timers/promises";
import { affiliate, memoryOutbox, type Outbox, type Receipt } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { Pool } from "undici";
import { PATH, POST, payment, visitor } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, say } from "./task.js";

/**
 * Who delivers: this package from one of its outboxes, or a host without it. `disk, storing` is
 * handed the payments just before.
 */
export type Carrier = "memory" | "disk" | "disk, storing" | "undici";

export type DeliveryReport = typeof report;

/** What to deliver. */
export interface DeliveryArgument {
  readonly carrier: Carrier;
  readonly service: string;
  readonly events: number;
  /** Whether as many are delivered before anything is measured. */
  readonly isWarm: boolean;
  /** How many requests are under way at a time, and the `delivery.concurrency` for that. */
  readonly sockets: number;
  readonly concurrency: number;
}

const { carrier, service, events, isWarm, sockets, concurrency } = argument as DeliveryArgument;
const warmUp = isWarm ? events : 0;
const pool = new Pool(service, { connections: sockets });

interface Work {
  /** What the events wait in, if they wait. */
  prepare?(events: number): void;
  /** Resolves when the service has all but so many. */
  deliver(allBut?: number): Promise<unknown>;
}

const trackerWith = (outbox: Outbox, delivery: false | { concurrency: number } = { concurrency }) =>
  affiliate({ baseUrl: service, clientId: 1, outbox, delivery });

/** The events wait in a file when the tracker starts that delivers them. */
async function fromFile(): Promise<Work> {
  const directory = scratch();
  const first = trackerWith(diskOutbox({ directory }), false);
  const track = (nth: number) => first.trackPayment(payment(nth), visitor(nth));
  await Promise.all(Array.from({ length: warmUp + events }, (_, nth) => track(nth)));
  await first.close();
  const tracker = trackerWith(diskOutbox({ directory }));
  return { deliver: untilLeft(() => tracker.stats().queued) };
}

/** What waits already goes without being asked for. */
function untilLeft(left: () => number) {
  return async (allBut = 0) => {
    while (left() > allBut) await sleep(5);
  };
}

function withTracker(outbox: Outbox): Work {
  const tracker = trackerWith(outbox);
  const delivered = untilLeft(() => tracker.stats().queued);
  const tracked: Promise<Receipt>[] = [];
  return {
    // In one turn of the event loop: nothing is on its way before it is asked for.
    prepare(number) {
      for (let nth = 0; nth < number; nth++) {
        const order = tracked.length;
        tracked.push(tracker.trackPayment(payment(order), visitor(order)));
      }
    },
    async deliver() {
      await Promise.all(tracked);
      await delivered();
    },
  };
}

async function post(body: string): Promise<unknown> {
  return (await pool.request({ path: PATH, ...POST, body })).body.json();
}

function withoutTracker(): Work {
  const unsent: number[] = [];
  async function sender(): Promise<void> {
    for (let nth = unsent.pop(); nth !== undefined; nth = unsent.pop()) await post(bodyOf(nth));
  }
  return {
    prepare(number) {
      for (let nth = 0; nth < number; nth++) unsent.push(nth);
    },
    deliver: () => Promise.all(Array.from({ length: sockets }, sender)),
  };
}

function bodyOf(nth: number): string {
  const { customerEmail, leadValue } = payment(nth);
  const { sessionId } = visitor(nth);
  return JSON.stringify({ clientId: 1, leadType: "PAYMENT", customerEmail, leadValue, sessionId });
}

const works: Record<Carrier, () => Work | Promise<Work>> = {
  memory: () => withTracker(memoryOutbox({ maxEvents: warmUp + events })),
  disk: fromFile,
  "disk, storing": () => withTracker(diskOutbox({ directory: scratch() })),
  undici: withoutTracker,
};

const work = await works[carrier]();
work.prepare?.(warmUp);
await work.deliver(carrier === "disk" ? events : 0);
work.prepare?.(events);
const began = performance.now();
const before = process.cpuUsage();
await work.deliver();
const { user, system } = process.cpuUsage(before);
const took = performance.now() - began;
const report = {
  eventsPerSecond: (events / took) * 1_000,
  /** Processor time of all threads for each event, in microseconds. */
  cpuMicros: (user + system) / events,
};
say(report);
