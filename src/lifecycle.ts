import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery } from "./delivery/deliver.js";
import type { Journal } from "./journal.js";
import type { Outbox } from "./outbox/outbox.js";
import type { Transport } from "./transport.js";

export interface FlushOptions {
  /** How long to wait at most, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

export type CloseOptions = FlushOptions;

export interface Lifecycle {
  readonly closed: boolean;
  flush(options?: FlushOptions): Promise<{ settled: boolean; left: number }>;
  close(options?: CloseOptions): Promise<{ left: number; durable: boolean }>;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const LONGEST_LOOK_MS = 50;

// One listener for all trackers of a process: each its own would look like a leak to Node.
const atExit = new Set<() => void>();
process.on("beforeExit", () => {
  for (const task of atExit) task();
});

/** The end of a tracker: waiting for what is queued, and letting go of everything. */
export function createLifecycle(parts: {
  outbox: Outbox;
  delivery: Delivery;
  transport: Transport;
  journal: Journal;
}): Lifecycle {
  const { outbox, delivery, transport, journal } = parts;
  let closing: Promise<{ left: number; durable: boolean }> | undefined;

  // Its timers are not unref'ed: somebody waits for this.
  async function flush({ timeoutMs = DEFAULT_TIMEOUT_MS }: FlushOptions = {}) {
    const deadline = performance.now() + timeoutMs;
    for (let look = 1; ; look = Math.min(look * 2, LONGEST_LOOK_MS)) {
      const left = outbox.counts().queued;
      const remaining = deadline - performance.now();
      if (left === 0 || remaining <= 0 || closing) return { settled: left === 0, left };
      await sleep(Math.min(look, remaining));
    }
  }

  async function shutDown(timeoutMs: number) {
    atExit.delete(onExit);
    delivery.stop();
    const settled = outbox
      .close()
      .catch((error) => journal.log("error", `the outbox did not close: ${error}`));
    let timeUp: NodeJS.Timeout | undefined;
    // Earlier than the deadline, for what is aborted has yet to be written down.
    const lastCall = setTimeout(transport.abort, timeoutMs * 0.9);
    const deadline = new Promise((resolve) => {
      timeUp = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([settled, deadline]);
    clearTimeout(lastCall);
    clearTimeout(timeUp);
    await transport.close();
    return { left: outbox.counts().queued, durable: outbox.durable };
  }

  /** A process that ends by itself sends what it has first, as long as that gets it anywhere. */
  let deliveredBefore = -1;
  function onExit(): void {
    const { queued } = outbox.counts();
    if (queued === 0) return;
    if (journal.counts.delivered > deliveredBefore) {
      deliveredBefore = journal.counts.delivered;
      void flush();
    } else if (!outbox.durable) {
      journal.log("warn", `the process ends, and ${queued} events with it that could not be delivered`);
    }
  }

  atExit.add(onExit);
  return {
    get closed() {
      return closing !== undefined;
    },
    flush,
    close({ timeoutMs = DEFAULT_TIMEOUT_MS } = {}) {
      closing ??= shutDown(timeoutMs);
      return closing;
    },
  };
}
