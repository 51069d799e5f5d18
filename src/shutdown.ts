import type { Delivery } from "./delivery/delivery.js";
import type { Journal } from "./journal/journal.js";
import { dueIn } from "./outbox/counts.js";
import type { Outbox } from "./outbox/outbox.js";
import type { Transport } from "./service/transport.js";
import { LONGEST_TIMER_MS } from "./shared/clock.js";
import { errorFrom } from "./shared/errors.js";
import { createProcessHooks } from "./shared/process-hooks.js";
import { clearTimeout, monotonic, setTimeout, sleep } from "./shared/real-timers.js";

/** What `flush()` and `close()` take. @inline */
export interface TimeLimit {
  /** How long to wait at most, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const LONGEST_LOOK_MS = 50;
// Chosen: each may be a connection to a server that is away.
const COUNT_AGAIN_MS = 500;

// Five seconds are promised; the rest is for the end itself.
const LAST_WORDS_MS = 4_500;

const beforeExit = createProcessHooks("beforeExit");

/** `flush`, `close`, and what a process sends before it ends by itself. */
export function createShutdown(parts: {
  outbox: Outbox;
  delivery: Pick<Delivery, "stop">;
  transport: Pick<Transport, "abort" | "close">;
  journal: Journal;
}) {
  const { outbox, delivery, transport, journal } = parts;
  let closing: Promise<{ left: number; durable: boolean }> | undefined;

  /** Nothing here waits for scheduled ones. */
  const due = () => dueIn(outbox.counts());

  /** A storage that fails may hold events that were not counted. */
  const isSettled = () => due() === 0 && outbox.counts().trouble === undefined;

  // Its timers are not unref'ed: the caller waits for this.
  async function flush(options?: TimeLimit) {
    const timeoutMs = options?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const deadline = monotonic() + timeoutMs;
    const remaining = () => deadline - monotonic();
    // Other processes' events count too, and may not be counted yet.
    let isCounted = closing !== undefined || (await waitAtMost(timeoutMs, outbox.look()));
    outbox.wake();
    for (let looks = 1; ; looks++) {
      // What is left waits for a later attempt, or its endpoint is paused: the next process
      // delivers it. Not at the first look: otherwise a caller that flushes in a loop never lets
      // the outbox work.
      const isAllForNow = isCounted && looks > 1 && outbox.idle === true && outbox.durable;
      // Another process may have delivered some of them.
      if (!isCounted || (isAllForNow && due() > 0)) isCounted = await waitAtMost(remaining(), outbox.look());
      const settled = isCounted && isSettled();
      if (settled || isAllForNow || closing || !(remaining() > 0))
        return { settled, left: outbox.counts().queued };
      await sleep(Math.min(isCounted ? pauseMs(looks) : COUNT_AGAIN_MS, remaining()));
    }
  }

  async function closeAll(timeoutMs: number) {
    beforeExit.remove(onExit);
    delivery.stop();
    const closed = ended(`the ${outbox.name} outbox`, () => outbox.close());
    // Early: the outbox still has to store the verdicts of aborted attempts.
    const abortTimer = setTimeout(transport.abort, timerMs(timeoutMs) * 0.9);
    await waitAtMost(timeoutMs, closed);
    clearTimeout(abortTimer);
    await ended("the way to the service", transport.close);
    journal.endWaits();
    return { left: outbox.counts().queued, durable: outbox.durable };
  }

  async function ended(what: string, close: () => Promise<void>): Promise<void> {
    try {
      await close();
    } catch (error) {
      journal.log("error", `${what} did not close: ${errorFrom(error)}`);
    }
  }

  /** How long the process may still send its own events before it ends by itself. */
  let leftMs = LAST_WORDS_MS;
  const leftOfOwn = () => Math.min(journal.withoutOutcome, due());
  function onExit(): void {
    const scheduled = outbox.counts().scheduled?.count ?? 0;
    const left = leftOfOwn();
    if (left + scheduled === 0 || (outbox.durable && (left === 0 || outbox.idle))) return;
    if (leftMs > 0 && left > 0) return void sendOwn();
    // Once: an asynchronous logger makes the process emit `beforeExit` again.
    beforeExit.remove(onExit);
    if (outbox.durable) return;
    journal.log(
      "warn",
      `the process ends with ${left + scheduled} events that could not be delivered: they are lost`,
    );
  }

  // Its timers are not unref'ed: they keep the process alive.
  async function sendOwn(): Promise<void> {
    const began = monotonic();
    const isDone = () => leftOfOwn() === 0 || (outbox.durable && outbox.idle) || closing;
    for (let looks = 1; !isDone() && monotonic() - began < leftMs; looks++) {
      await sleep(pauseMs(looks));
    }
    leftMs -= monotonic() - began;
  }

  beforeExit.add(onExit);
  return {
    get closed() {
      return closing !== undefined;
    },
    flush,
    close(options?: TimeLimit) {
      closing ??= closeAll(options?.timeoutMs ?? DEFAULT_TIMEOUT_MS);
      return closing;
    },
  };
}

function pauseMs(looks: number): number {
  return Math.min(2 ** (looks - 1), LONGEST_LOOK_MS);
}

function timerMs(timeoutMs: number): number {
  return Math.min(Math.max(timeoutMs, 0) || 0, LONGEST_TIMER_MS);
}

/** Waits for the work, but no longer than this. Resolves to whether it succeeded. Leaves no timer behind. */
async function waitAtMost(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const late = sleep(timerMs(timeoutMs), false, { signal: over.signal });
  const isDone = await Promise.race([work.then(() => true), late]).catch(() => false);
  over.abort();
  return isDone;
}

const LOOK_MS = 10;

/**
 * Makes a function that resolves once the process may freeze without losing the event: with a
 * durable outbox, when it is stored and its first attempt, if one is due here, has ended, or the
 * time of one attempt is over; otherwise when it was delivered or given up.
 */
export function createSafeToFreeze(parts: {
  outbox: Outbox;
  journal: Journal;
  delivers: boolean;
  attemptMs: number;
}): (id: string) => Promise<void> {
  const { outbox, journal, delivers, attemptMs } = parts;
  // Asked now, before a failing storage leaves events in memory.
  const isDurable = outbox.durable;

  return async function safeToFreeze(id) {
    // The first attempt has ended, or the event is scheduled.
    if (!journal.awaits(id)) return;
    if (!isDurable) {
      // If nothing but scheduled events is queued, it has ended.
      if (dueIn(outbox.counts()) > 0) await journal.ended(id).promise;
      return;
    }
    const deadline = monotonic() + attemptMs;
    const attempt = journal.ended(id, { orAttempted: true });
    let hasEnded = !delivers;
    void attempt.promise.then(() => {
      hasEnded = true;
    });
    // It may wait for an earlier event of its visitor, or another process may deliver it: polled,
    // because this process does not see that.
    const isSafe = () => outbox.durable && (hasEnded || outbox.idle === true);
    while (!isSafe() && monotonic() < deadline) {
      const look = sleep(LOOK_MS, undefined, { ref: false });
      // At once if it ends: without another handle, the process ends before the timer.
      await (hasEnded ? look : Promise.race([attempt.promise, look]));
    }
    attempt.cancel();
  };
}
