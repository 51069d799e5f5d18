import type { Clock } from "../shared/clock.js";
import { setImmediate } from "../shared/real-timers.js";

/** Tells another thread how things stand. Each message costs both threads more than what it says: where many events end, some are told together. */
export interface Telling {
  /** Tells it at the end of this turn of the event loop; where that is not urgent, so long after the last time at the earliest. */
  soon(): void;
  /** Tells it here and now. */
  now(): void;
}

/**
 * @param options.isUrgent asked at the end of a turn.
 * @param options.apartMs how far apart what is not urgent is told, in milliseconds.
 */
export function createTelling(options: {
  readonly tell: () => void;
  readonly isUrgent: () => boolean;
  readonly apartMs: number;
  readonly clock: Pick<Clock, "monotonic" | "after">;
}): Telling {
  const { tell, isUrgent, apartMs, clock } = options;
  let isScheduled = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;

  function now(): void {
    cancel?.();
    cancel = undefined;
    toldAt = clock.monotonic();
    tell();
  }

  function endTurn(): void {
    isScheduled = false;
    const waitMs = toldAt + apartMs - clock.monotonic();
    if (waitMs <= 0 || isUrgent()) now();
    else cancel ??= clock.after(waitMs, now);
  }

  return {
    soon() {
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(endTurn);
    },
    now,
  };
}
