import { clearTimeout, monotonic, now, setTimeout } from "./real-timers.js";

/** Time, which a test can simulate: three days in a second. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since a fixed moment, of a clock that is never set. */
  monotonic(): number;
  /** Runs `task` once in `ms` milliseconds, unless the returned function is called before. */
  after(ms: number, task: () => void): () => void;
}

export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now,
  monotonic,
  after(ms, task) {
    // Unref'ed: no timer of this package keeps a host's process alive.
    const timer = setTimeout(task, Math.min(ms, LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
