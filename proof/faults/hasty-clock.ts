import type { Clock } from "../../src/shared/clock.js";

/** A clock that is `haste` times as fast, so that real sockets live through pauses of minutes. */
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
