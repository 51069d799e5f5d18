import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { type Affiliate, affiliate, memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";
import { startCluster } from "../test/helpers/cluster.js";
import { payment, visitor } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, quiet, say } from "./task.js";
import { mainThreadMicros } from "./thread-clock.js";

export interface HandOverArgument {
  readonly outbox: "memory" | "disk" | "postgres";
  /** How many events wait when a measurement begins, in ascending order. */
  readonly waiting: readonly number[];
  /** How many batches each measurement hands over. */
  readonly batches: number;
}

export type HandOver = Awaited<ReturnType<typeof measure>>[number];

const { outbox: name, waiting, batches } = argument as HandOverArgument;
const BATCH = 100;
/** So many batches are made before their hand-over is measured: the clock is read rarely. */
const READY = 10;
const MICROS_PER_MS = 1_000;
const GIB = 1024 ** 3;

let handedOver = 0;

async function createSubject() {
  switch (name) {
    case "memory":
      return { outbox: memoryOutbox({ maxEvents: 2_000_000, maxBytes: 4 * GIB }) };
    case "disk": {
      const directory = scratch();
      return { outbox: diskOutbox({ directory, maxBytes: 4 * GIB }), directory };
    }
    case "postgres": {
      const { connectionString, destroy } = await startCluster();
      const pool = new pg.Pool({ connectionString });
      return { outbox: postgresOutbox({ pool }), destroy: () => pool.end().then(destroy) };
    }
  }
}

/** Does something with a new tracker. */
async function withTracker<T>(task: (tracker: Affiliate, directory?: string) => Promise<T>): Promise<T> {
  const { outbox, directory, destroy } = await createSubject();
  // Nobody listens there: what is handed over waits.
  const tracker = affiliate({ baseUrl: "http://127.0.0.1:9", clientId: 1, outbox, logger: quiet });
  const result = await task(tracker, directory);
  await tracker.close({ timeoutMs: 0 });
  await destroy?.();
  return result;
}

/** As a host gets them: parsed from a request. */
function batch() {
  const orders = Array.from({ length: BATCH }, () => ({
    payment: payment(++handedOver),
    visitor: visitor(handedOver),
  }));
  return JSON.parse(JSON.stringify(orders)) as typeof orders;
}

/** What it takes to hand over so many batches, in microseconds. */
async function handOver(tracker: Affiliate, count: number) {
  let mainThread = 0;
  let untilReceipt = 0;
  for (let done = 0; done < count; done += READY) {
    const ready = Array.from({ length: Math.min(READY, count - done) }, batch);
    const before = mainThreadMicros();
    for (const orders of ready) {
      const began = performance.now();
      await Promise.all(orders.map((order) => tracker.trackPayment(order.payment, order.visitor)));
      untilReceipt += (performance.now() - began) * MICROS_PER_MS;
      // What the tracker has planned for the end of this turn is a part of the cost.
      await turn();
    }
    mainThread += mainThreadMicros() - before;
  }
  const events = count * BATCH;
  return {
    /** Of the main thread's processor time for each event, until its receipt is there. */
    mainThread: mainThread / events,
    /** Of time that passes, for each event of those that are handed over together. */
    untilReceipt: untilReceipt / events,
  };
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

async function measure(tracker: Affiliate, directory?: string) {
  const heapBefore = heapUsed();
  const first = handedOver;
  const measured = [];
  for (const number of waiting) {
    await handOver(tracker, (number - handedOver + first) / BATCH);
    const costs = await handOver(tracker, batches);
    const waits = handedOver - first;
    measured.push({
      waiting: number,
      ...costs,
      /** For each event that waits, in the heap, and in the outbox's directory if it has one. */
      heapBytes: Math.max(0, heapUsed() - heapBefore) / waits,
      diskBytes: directory === undefined ? undefined : sizeOf(directory) / waits,
    });
  }
  return measured;
}

// The compiler's work is no part of what is measured: what it has made for the first tracker it
// makes anew for the next, and keeps from then on.
for (let trial = 0; trial < 3; trial++) await withTracker((tracker) => handOver(tracker, 3 * batches));
say(await withTracker(measure));
