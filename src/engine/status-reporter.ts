import type { Clock } from "../shared/clock.js";
import { setImmediate } from "../shared/real-timers.js";

/**
 * Reports this thread's state to another. A message costs more than its content, so updates share
 * one. `isUrgent` is asked at the end of a tick.
 */
export function createStatusReporter(options: {
  readonly send: () => void;
  readonly isUrgent: () => boolean;
  readonly apartMs: number;
  readonly clock: Pick<Clock, "monotonic" | "after">;
}) {
  const { send, isUrgent, apartMs, clock } = options;
  let isScheduled = false;
  let sentAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;

  function now(): void {
    cancel?.();
    cancel = undefined;
    sentAt = clock.monotonic();
    send();
  }

  function endTick(): void {
    isScheduled = false;
    const waitMs = sentAt + apartMs - clock.monotonic();
    if (waitMs <= 0 || isUrgent()) now();
    else cancel ??= clock.after(waitMs, now);
  }

  return {
    /** At the end of this tick; if not urgent, at least `apartMs` after the last report. */
    soon(): void {
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(endTick);
    },
    now,
  };
}
