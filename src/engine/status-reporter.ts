import type { Clock } from "../shared/clock.js";
import { setImmediate } from "../shared/real-timers.js";

/** Reports this thread's state to another one. Posting a message costs more than its content, so updates share one. */
export interface StatusReporter {
  /** Reports at the end of this tick; if that is not urgent, no sooner than `apartMs` after the last report. */
  soon(): void;
  /** Reports at once. */
  now(): void;
}

/**
 * @param options.isUrgent asked at the end of a tick.
 * @param options.apartMs how far apart reports are that are not urgent, in milliseconds.
 */
export function createStatusReporter(options: {
  readonly tell: () => void;
  readonly isUrgent: () => boolean;
  readonly apartMs: number;
  readonly clock: Pick<Clock, "monotonic" | "after">;
}): StatusReporter {
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
