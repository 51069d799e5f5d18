import type { Delivery } from "./delivery/delivery.js";
import type { Journal } from "./journal.js";
import type { Outbox } from "./outbox/outbox.js";
import type { Transport } from "./service/transport.js";
import { createProcessHooks } from "./shared/process-hooks.js";
import { clearTimeout, monotonic, setTimeout, sleep } from "./shared/real-timers.js";

/** What `flush()` takes. */
export interface FlushOptions {
  /** How long to wait at most, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

/** What `close()` takes. */
export type CloseOptions = FlushOptions;

export interface Shutdown {
  readonly closed: boolean;
  flush(options?: FlushOptions): Promise<{ settled: boolean; left: number }>;
  close(options?: CloseOptions): Promise<{ left: number; durable: boolean }>;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const LONGEST_LOOK_MS = 50;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

const beforeExit = createProcessHooks("beforeExit");

/** The end of a tracker: waiting for what is queued, and letting go of everything. */
export function createShutdown(parts: {
  outbox: Outbox;
  delivery: Delivery;
  transport: Transport;
  journal: Journal;
}): Shutdown {
  const { outbox, delivery, transport, journal } = parts;
  let closing: Promise<{ left: number; durable: boolean }> | undefined;

  // Its timers are not unref'ed: somebody waits for this.
  async function flush({ timeoutMs = DEFAULT_TIMEOUT_MS }: FlushOptions = {}) {
    const deadline = monotonic() + timeoutMs;
    // What other processes have queued counts too, and nobody may have looked yet.
    if (outbox.look) await Promise.race([outbox.look().catch(() => {}), sleep(Math.max(timeoutMs, 0))]);
    for (let look = 1; ; look = Math.min(look * 2, LONGEST_LOOK_MS)) {
      const left = outbox.counts().queued;
      const remaining = deadline - monotonic();
      // What is left rests, or its endpoint is paused: the next process has it.
      const isVain = outbox.idle === true && outbox.durable;
      if (left === 0 || isVain || closing || !(remaining > 0)) return { settled: left === 0, left };
      await sleep(Math.min(look, remaining));
    }
  }

  async function shutDown(timeoutMs: number) {
    beforeExit.remove(onExit);
    delivery.stop();
    const closed = outbox
      .close()
      .catch((error) => journal.log("error", `the ${outbox.name} outbox did not close: ${error}`));
    let timeUp: NodeJS.Timeout | undefined;
    const ms = Math.min(Math.max(timeoutMs, 0) || 0, LONGEST_TIMER_MS);
    // Earlier than the deadline, for what is aborted has yet to be written down.
    const lastCall = setTimeout(transport.abort, ms * 0.9);
    const deadline = new Promise((resolve) => {
      timeUp = setTimeout(resolve, ms);
    });
    await Promise.race([closed, deadline]);
    clearTimeout(lastCall);
    clearTimeout(timeUp);
    await transport.close();
    journal.endWaits();
    return { left: outbox.counts().queued, durable: outbox.durable };
  }

  /** A process that ends by itself sends what it has first, as long as that gets it anywhere. */
  let deliveredBefore = -1;
  function onExit(): void {
    const { queued } = outbox.counts();
    if (queued === 0) return;
    const { delivered } = journal.counts;
    if (delivered > deliveredBefore) {
      deliveredBefore = delivered;
      void flush();
      return;
    }
    // Once: a logger that takes its time brings the process back here.
    beforeExit.remove(onExit);
    if (!outbox.durable) {
      journal.log("warn", `the process ends, and ${queued} events with it that could not be delivered`);
    }
  }

  beforeExit.add(onExit);
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
