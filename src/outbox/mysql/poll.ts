import type { Clock } from "../../shared/clock.js";

const QUICK_MS = 20;

/** Polls: often while there is something to find, then less and less. */
export interface Poll {
  /** There are new events, or will be soon. */
  quicken(): void;
  stop(): void;
}

/** `slowMs` is the longest time between two looks. */
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
