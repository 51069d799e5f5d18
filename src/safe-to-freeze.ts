import type { Journal } from "./journal/journal.js";
import { dueIn } from "./outbox/counts.js";
import type { Outbox } from "./outbox/outbox.js";
import { monotonic, sleep } from "./shared/real-timers.js";

const LOOK_MS = 50;

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
    for (let left = attemptMs; left > 0 && !isSafe(); left = deadline - monotonic()) {
      const look = sleep(Math.min(LOOK_MS, left), undefined, { ref: false });
      await (hasEnded ? look : Promise.race([attempt.promise, look]));
    }
    attempt.cancel();
  };
}
