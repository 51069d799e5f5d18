import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { affiliate } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { payment, visitor } from "./payments.js";
import { scratch } from "./scratch.js";
import { argument, quiet, say } from "./task.js";

export type LoopDelayReport = typeof report;

const { events, tracks } = argument as { events: number; tracks: boolean };
const PER_TURN = 20;
// So many requests wait for their receipts at a time.
const MOST_PENDING = 1_000;
const NS_PER_MS = 1e6;

const outbox = diskOutbox({ directory: scratch() });
const tracker = affiliate({ baseUrl: "http://127.0.0.1:9", clientId: 1, outbox, logger: quiet });

/** Hands over some in each turn of the event loop, or only makes them up. */
async function run(number: number): Promise<void> {
  let pending = 0;
  for (let nth = 0; nth < number; nth++) {
    const [happened, who] = [payment(nth), visitor(nth)];
    if (tracks) {
      pending++;
      void tracker.trackPayment(happened, who).then(() => pending--);
    }
    if (nth % PER_TURN > 0) continue;
    do await turn();
    while (pending > MOST_PENDING);
  }
  while (pending > 0) await turn();
}

await run(events / 10);
globalThis.gc?.();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
await run(events);
delay.disable();
await tracker.close({ timeoutMs: 0 });
/** How late the event loop was, in milliseconds. */
const report = { p99Ms: delay.percentile(99) / NS_PER_MS, longestMs: delay.max / NS_PER_MS };
say(report);
