import type { Clock } from "../../shared/clock.js";

const QUICK_MS = 20;

/** Polls: soon after there was something to find, then less and less often. */
export interface Poll {
  /** There are new events to find, or will be soon. */
  quicken(): void;
  stop(): void;
}

/** @param slowMs the longest time from one look to the next, in milliseconds. */
export function createPoll(clock: Clock, slowMs: number, look: () => void): Poll {
  let nextMs = slowMs;
  let isStopped = false;
  let cancel = clock.after(slowMs, round);

  function round(): void {
    look();
    if (isStopped) return;
    nextMs = Math.min(2 * nextMs, slowMs);
    cancel = clock.after(nextMs, round);
  }

  return {
    quicken() {
      if (isStopped || nextMs <= 2 * QUICK_MS) return;
      nextMs = Math.min(QUICK_MS, slowMs);
      cancel();
      cancel = clock.after(nextMs, round);
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
