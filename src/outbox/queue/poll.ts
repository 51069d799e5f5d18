import type { Clock } from "../../shared/clock.js";

/**
 * Repeats a task, even if it rejects, and never twice at a time. Returns a function that ends it.
 *
 * @param ms the pause before each run; a function gets for how long the last run took.
 */
export function again(
  clock: Clock,
  ms: number | ((took: number) => number),
  task: () => unknown,
): () => void {
  const pauseAfter = typeof ms === "number" ? () => ms : ms;
  let isStopped = false;
  let cancel = clock.after(pauseAfter(0), round);

  async function round(): Promise<void> {
    const began = clock.now();
    try {
      await task();
    } catch {
      // Appends and claims report what is wrong with the server.
    }
    if (!isStopped) cancel = clock.after(pauseAfter(clock.now() - began), round);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}

const QUICK_MS = 20;

/** Polls: often while there is something to find, then less and less. */
export interface Poll {
  /** There are new events, or will be soon. */
  quicken(): void;
  stop(): void;
}

/**
 * @param slowMs the longest time between two looks.
 * @param look gets whether it looks sooner than that.
 */
export function createPoll(clock: Clock, slowMs: number, look: (isQuick: boolean) => void): Poll {
  let nextMs = slowMs;
  let isStopped = false;
  let cancel = clock.after(slowMs, round);

  function round(): void {
    look(nextMs < slowMs);
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
