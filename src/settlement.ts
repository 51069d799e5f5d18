import type { Journal } from "./journal/journal.js";
import type { Outbox } from "./outbox/outbox.js";
import { monotonic, sleep } from "./shared/real-timers.js";

const LOOK_MS = 50;

/**
 * Makes a function that resolves when a queued event needs this process no longer. With an outbox that is not durable: when it was
 * delivered or given up. With a durable one: when it is stored and its first attempt, if one is due here, has ended; at the
 * latest after the time of one attempt.
 */
export function createUntilSafe(parts: {
  outbox: Outbox;
  journal: Journal;
  delivers: boolean;
  attemptMs: number;
}): (id: string) => Promise<void> {
  const { outbox, journal, delivers, attemptMs } = parts;
  // Before anything waits in memory for a storage that fails.
  const isDurable = outbox.durable;

  return async function untilSafe(id) {
    if (!isDurable) {
      // Where nothing is queued any more, nothing is left to wait for.
      if (outbox.counts().queued > 0) await journal.ended(id).promise;
      return;
    }
    const deadline = monotonic() + attemptMs;
    const attempt = journal.ended(id, { orAttempted: true });
    let hasEnded = !delivers;
    void attempt.promise.then(() => {
      hasEnded = true;
    });
    // It may rest behind an earlier event of its visitor, or another process may deliver it: this process hears of neither.
    const isSafe = () => outbox.durable && (hasEnded || outbox.idle === true);
    for (let left = attemptMs; left > 0 && !isSafe(); left = deadline - monotonic()) {
      const look = sleep(Math.min(LOOK_MS, left), undefined, { ref: false });
      await (hasEnded ? look : Promise.race([attempt.promise, look]));
    }
    attempt.cancel();
  };
}
