import { clearTimeout, monotonic, now, setTimeout } from "./real-timers.js";

/** Time as the rest of the package sees it, so that a test can live through three days in a second. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment: of a clock that is never set. */
  monotonic(): number;
  /** Runs `task` once, `ms` milliseconds from now, unless the function that it returns is called before. */
  after(ms: number, task: () => void): () => void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now,
  monotonic,
  after(ms, task) {
    // Unref'ed here, once and for all: no timer of ours keeps a host's process alive.
    const timer = setTimeout(task, Math.min(ms, LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
