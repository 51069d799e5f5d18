import type { Clock } from "../../shared/clock.js";
import type { Snapshot } from "./protocol.js";

/** Calls `wake` when the next waiting event may be ready. */
export function createAlarm(clock: Clock, wake: () => void) {
  let cancel = () => {};
  let isStopped = false;

  return {
    set({ nextReadyAt }: Pick<Snapshot, "nextReadyAt">): void {
      cancel();
      if (nextReadyAt === null || isStopped) return;
      const inMs = nextReadyAt - clock.now();
      if (inMs <= 0) wake();
      else cancel = clock.after(inMs, wake);
    },
    stop(): void {
      isStopped = true;
      cancel();
    },
  };
}
