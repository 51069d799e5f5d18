import type { Clock } from "../shared/clock.js";
import { setImmediate } from "../shared/real-timers.js";

/** Runs `task` once the timers that are due have fired, and the data in the sockets has been read. */
export function afterTurn(task: () => void): void {
  setImmediate(() => setImmediate(task));
}

/** Knows whether the event loop goes round, or stands still. */
export class EventLoop {
  readonly #clock: Clock;
  #passedAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From here on, it is known when the loop next goes round. */
  watch(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    setImmediate(() => {
      this.#isWaiting = false;
      this.#passedAt = this.#clock.monotonic();
    });
  }

  /** Whether it has gone round within so many milliseconds. False as well where it was not watched. */
  hasPassedWithin(ms: number): boolean {
    return this.#clock.monotonic() - this.#passedAt <= ms;
  }
}
