import type { Journal } from "./journal/journal.js";
import { dueIn } from "./outbox/counts.js";
import type { Outbox } from "./outbox/outbox.js";
import { monotonic, sleep } from "./shared/real-timers.js";

const LOOK_MS = 50;

/**
 * Makes a function that resolves once this process may be frozen without losing the event. With an outbox that is not durable:
 * when the event was delivered or given up. With a durable one: when it is stored and its first attempt, if one is due here,
 * has ended; at the latest after the time of one attempt.
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
    // It has ended, or it is scheduled.
    if (!journal.awaits(id)) return;
    if (!isDurable) {
      // With nothing queued but scheduled events, it has ended.
      if (dueIn(outbox.counts()) > 0) await journal.ended(id).promise;
      return;
    }
    const deadline = monotonic() + attemptMs;
    const attempt = journal.ended(id, { orAttempted: true });
    let hasEnded = !delivers;
    void attempt.promise.then(() => {
      hasEnded = true;
    });
    // The event may wait for an earlier one of its visitor, or another process may deliver it: this process hears of neither.
    const isSafe = () => outbox.durable && (hasEnded || outbox.idle === true);
    for (let left = attemptMs; left > 0 && !isSafe(); left = deadline - monotonic()) {
      const look = sleep(Math.min(LOOK_MS, left), undefined, { ref: false });
      await (hasEnded ? look : Promise.race([attempt.promise, look]));
    }
    attempt.cancel();
  };
}
