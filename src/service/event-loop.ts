import type { Clock } from "../shared/clock.js";
import { setImmediate } from "../shared/real-timers.js";

/** Runs `task` once timers that are due have fired and data in the sockets has been read. */
export function afterTick(task: () => void): void {
  setImmediate(() => setImmediate(task));
}

/** Whether the event loop turns or stands still. */
export class EventLoop {
  readonly #clock: Clock;
  #passedAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes when the loop next turns. */
  watch(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    setImmediate(() => {
      this.#isWaiting = false;
      this.#passedAt = this.#clock.monotonic();
    });
  }

  /** Whether the loop has turned within so many milliseconds, as far as `watch` knows. */
  hasPassedWithin(ms: number): boolean {
    return this.#clock.monotonic() - this.#passedAt <= ms;
  }
}
