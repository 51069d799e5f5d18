import type { Clock } from "./clock.js";

/** Calls `wake` at the time that was set last; times in milliseconds since the epoch. */
export function createAlarm(clock: Clock, wake: () => void) {
  let cancel = () => {};
  let isStopped = false;

  return {
    /** `null`: never. */
    set(at: number | null): void {
      cancel();
      if (at === null || isStopped) return;
      const inMs = at - clock.now();
      if (inMs <= 0) wake();
      else cancel = clock.after(inMs, wake);
    },
    stop(): void {
      isStopped = true;
      cancel();
    },
  };
}
