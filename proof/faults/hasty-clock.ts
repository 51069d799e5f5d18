import type { Clock } from "../../src/shared/clock.js";

/**
 * A clock on which a second takes `1 / haste` seconds, so that pauses of minutes can be lived
 * through on real sockets.
 */
export function hastyClock(haste: number): Clock {
  const began = Date.now();
  return {
    monotonic: () => performance.now() * haste,
    now: () => began + (Date.now() - began) * haste,
    after(ms, task) {
      const timer = setTimeout(task, ms / haste);
      return () => clearTimeout(timer);
    },
  };
}
