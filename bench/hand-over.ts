import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { type Affiliate, affiliate, memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import type { Outbox } from "express-affiliate/outbox";
import { postgresOutbox } from "express-affiliate/postgres";
import pg from "pg";
import { startCluster } from "../test/helpers/cluster.js";
import { payment, visitor } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, say } from "./task.js";
import { mainThreadMicros } from "./thread-clock.js";

export interface HandOverArgument {
  readonly outbox: "memory" | "disk" | "postgres";
  /** How many events wait when a measurement begins, in ascending order. */
  readonly waiting: readonly number[];
}

/** One for each number of events waiting. */
export type HandOverReport = readonly HandOver[];

export interface HandOver {
  readonly waiting: number;
  /**
   * Microseconds of the main thread's processor time for each event: from the call until the
   * receipt is there.
   */
  readonly mainThread: number;
  /**
   * Microseconds for each event until the receipt is there, of those that are handed over together.
   */
  readonly untilReceipt: number;
  /** Bytes of heap for each event that waits. */
  readonly heapBytes: number;
  /** Bytes in the outbox's directory for each event that waits, if it has one. */
  readonly diskBytes: number | undefined;
}

const { outbox: name, waiting } = argument as HandOverArgument;
const BATCH = 100;
const BATCHES = 100;
/** So many batches are made before their hand-over is measured: the clock is read rarely. */
const READY = 10;
const MICROS_PER_MS = 1_000;
const GIB = 1024 ** 3;

let handedOver = 0;

interface Subject {
  readonly outbox: Outbox;
  readonly directory?: string;
  readonly destroy?: () => Promise<void>;
}

async function createSubject(): Promise<Subject> {
  switch (name) {
    case "memory":
      return { outbox: memoryOutbox({ maxEvents: 2_000_000, maxBytes: 4 * GIB }) };
    case "disk": {
      const directory = scratch();
      return { outbox: diskOutbox({ directory, maxBytes: 4 * GIB }), directory };
    }
    case "postgres": {
      const cluster = await startCluster();
      const pool = new pg.Pool({ connectionString: cluster.connectionString });
      const outbox = postgresOutbox({ pool });
      return { outbox, destroy: () => pool.end().then(cluster.destroy) };
    }
  }
}

/** Does something with a new tracker. */
async function withTracker<T>(task: (tracker: Affiliate, directory?: string) => Promise<T>): Promise<T> {
  const { outbox, directory, destroy } = await createSubject();
  // Nobody listens there: what is handed over waits.
  const baseUrl = "http://127.0.0.1:9";
  const tracker = affiliate({ baseUrl, clientId: 1, outbox, logger: { warn() {}, error() {} } });
  const result = await task(tracker, directory);
  await tracker.close({ timeoutMs: 0 });
  await destroy?.();
  return result;
}

/** As a host gets them: parsed from a request. */
function batch() {
  const orders = Array.from({ length: BATCH }, () => {
    handedOver++;
    return { payment: payment(handedOver), visitor: visitor(handedOver) };
  });
  return JSON.parse(JSON.stringify(orders)) as typeof orders;
}

async function handOver(
  tracker: Affiliate,
  batches: number,
): Promise<{ mainThread: number; untilReceipt: number }> {
  let mainThread = 0;
  let untilReceipt = 0;
  for (let done = 0; done < batches; done += READY) {
    const ready = Array.from({ length: Math.min(READY, batches - done) }, batch);
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
  const events = batches * BATCH;
  return { mainThread: mainThread / events, untilReceipt: untilReceipt / events };
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

async function measure(tracker: Affiliate, directory?: string): Promise<HandOverReport> {
  const heapBefore = heapUsed();
  const first = handedOver;
  const measured: HandOver[] = [];
  for (const number of waiting) {
    await handOver(tracker, (number - handedOver + first) / BATCH);
    const costs = await handOver(tracker, BATCHES);
    const waits = handedOver - first;
    measured.push({
      waiting: number,
      ...costs,
      heapBytes: Math.max(0, heapUsed() - heapBefore) / waits,
      diskBytes: directory === undefined ? undefined : sizeOf(directory) / waits,
    });
  }
  return measured;
}

// The compiler's work is no part of what is measured: what it has made for the first tracker it
// makes anew for the next, and keeps from then on.
for (let trial = 0; trial < 3; trial++) await withTracker((tracker) => handOver(tracker, 3 * BATCHES));
say<HandOverReport>(await withTracker(measure));
