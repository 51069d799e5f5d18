import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { affiliate, memoryOutbox, type Receipt } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { Pool } from "undici";
import { createMarked } from "./marked.js";
import { HEADERS, PATH, payment, visitor } from "./payments.js";
import { type Parts, profileThread } from "./profile.js";
import { scratch } from "./scratch.js";
import { argument, say } from "./task.js";
import { mainThreadMicros } from "./thread-clock.js";
import { transactionsIn } from "./transactions.js";

/**
 * Who delivers: this package from one of its outboxes, or a host without it. `disk, storing` is
 * handed the events just before. They are payments; of `disk, clicks`, clicks. `undici, marked` is
 * the least that knows of each payment, on the disk, that it is under way.
 */
export type Carrier =
  | "memory"
  | "disk"
  | "disk, clicks"
  | "disk, storing"
  | "undici"
  | "undici, marked"
  | "fetch";

export interface DeliveryReport {
  readonly eventsPerSecond: number;
  /**
   * Processor time for each event, in microseconds: of all threads of this process, and of its main
   * thread.
   */
  readonly cpuMicros: number;
  readonly mainThreadMicros: number;
  /** Of the disk outbox: transactions that wrote, for each event. */
  readonly transactions: number;
  /** Of the disk outbox, if `isProfiled`: microseconds of its thread for each event, by part. */
  readonly parts?: Parts;
}

/** What to deliver. */
export interface DeliveryArgument {
  readonly carrier: Carrier;
  readonly service: string;
  readonly events: number;
  /** How many are delivered before anything is measured. */
  readonly warmUp: number;
  /** How many requests are under way at a time, and the `delivery.concurrency` for that. */
  readonly sockets: number;
  readonly concurrency: number;
  readonly isProfiled?: boolean;
}

const { carrier, service, events, warmUp, sockets, concurrency, isProfiled } = argument as DeliveryArgument;
const delivery = { concurrency };
const isFromFile = carrier === "disk" || carrier === "disk, clicks" || carrier === "undici, marked";

interface Work {
  /** What the events wait in, if they wait. */
  prepare(events: number): Promise<void>;
  /** Resolves when the service has all but so many. */
  deliver(allBut?: number): Promise<void>;
  /** Where the events wait on the disk. */
  readonly directory?: string;
}

/** A file in which the events wait when the process starts that delivers them. */
async function filledDirectory(): Promise<string> {
  const directory = scratch();
  const outbox = diskOutbox({ directory });
  const tracker = affiliate({ baseUrl: service, clientId: 1, outbox, delivery: false });
  const all = Array.from({ length: warmUp + events }, (_, nth) => nth);
  const report = (nth: number) =>
    carrier === "disk, clicks"
      ? tracker.trackClick({ affiliateReference: "anna" }, visitor(nth))
      : tracker.trackPayment(payment(nth), visitor(nth));
  await Promise.all(all.map(report));
  await tracker.close();
  return directory;
}

async function fromFile(): Promise<Work> {
  const directory = await filledDirectory();
  const outbox = diskOutbox({ directory });
  const tracker = affiliate({ baseUrl: service, clientId: 1, outbox, delivery });
  return { directory, ...waiting(() => tracker.stats().queued) };
}

/** What waits already, and goes without being asked for. */
function waiting(left: () => number): Work {
  return {
    async prepare() {},
    async deliver(allBut = 0) {
      while (left() > allBut) await sleep(5);
    },
  };
}

function withTracker(): Work {
  const outbox =
    carrier === "memory"
      ? memoryOutbox({ maxEvents: warmUp + events })
      : diskOutbox({ directory: scratch() });
  const tracker = affiliate({ baseUrl: service, clientId: 1, outbox, delivery });
  const tracked: Promise<Receipt>[] = [];
  return {
    // In one turn of the event loop: nothing is on its way before it is asked for.
    async prepare(number) {
      for (let nth = 0; nth < number; nth++) {
        const order = tracked.length;
        tracked.push(tracker.trackPayment(payment(order), visitor(order)));
      }
    },
    async deliver() {
      await Promise.all(tracked);
      while (tracker.stats().queued > 0) await sleep(5);
    },
  };
}

async function markedOnly(): Promise<Work> {
  const pool = new Pool(service, { connections: sockets });
  const marked = createMarked(join(scratch(), "marked.db"), sockets, (body) => post(pool, body));
  marked.store(Array.from({ length: warmUp + events }, (_, nth) => bodyOf(nth)));
  marked.start();
  return waiting(() => marked.left);
}

async function post(pool: Pool, body: string): Promise<unknown> {
  const answer = await pool.request({ method: "POST", path: PATH, headers: HEADERS, body });
  return answer.body.json();
}

function withoutTracker(send: (body: string) => Promise<unknown>): Work {
  const unsent: number[] = [];
  async function sender(): Promise<void> {
    for (let nth = unsent.pop(); nth !== undefined; nth = unsent.pop()) await send(bodyOf(nth));
  }
  return {
    async prepare(number) {
      for (let nth = 0; nth < number; nth++) unsent.push(nth);
    },
    async deliver() {
      await Promise.all(Array.from({ length: sockets }, sender));
    },
  };
}

function bodyOf(nth: number): string {
  const { customerEmail, leadValue } = payment(nth);
  const { sessionId } = visitor(nth);
  return JSON.stringify({ clientId: 1, leadType: "PAYMENT", customerEmail, leadValue, sessionId });
}

async function workOf(): Promise<Work> {
  if (carrier === "undici, marked") return markedOnly();
  if (isFromFile) return fromFile();
  if (carrier === "fetch") {
    return withoutTracker(async (body) =>
      (await fetch(service + PATH, { method: "POST", headers: HEADERS, body })).text(),
    );
  }
  if (carrier === "undici") {
    const pool = new Pool(service, { connections: sockets });
    return withoutTracker((body) => post(pool, body));
  }
  return withTracker();
}

const work = await workOf();
const { directory } = work;
const transactions = () => (directory === undefined ? 0 : transactionsIn(directory));
await work.prepare(warmUp);
await work.deliver(isFromFile ? events : 0);
await work.prepare(events);
const profile = isProfiled ? await profileThread() : undefined;
const transactionsBefore = transactions();
const began = performance.now();
const before = process.cpuUsage();
const mainThreadBefore = mainThreadMicros();
await work.deliver();
const { user, system } = process.cpuUsage(before);
const took = performance.now() - began;
const mainThreadTook = mainThreadMicros() - mainThreadBefore;
const parts = await profile?.end();
say<DeliveryReport>({
  eventsPerSecond: (events / took) * 1_000,
  cpuMicros: (user + system) / events,
  mainThreadMicros: mainThreadTook / events,
  transactions: (transactions() - transactionsBefore) / events,
  ...(parts && { parts: perEvent(parts) }),
});

function perEvent(parts: Parts): Parts {
  return Object.fromEntries(Object.entries(parts).map(([part, sum]) => [part, sum / events])) as Parts;
}
