import type { Clock } from "../../src/shared/clock.js";

interface Timer {
  readonly at: number;
  readonly task: () => void;
}

/** A clock that a test turns by hand: three days pass in a second. */
export class FakeClock implements Clock {
  #now = Date.UTC(2025, 0, 1);
  /** The earliest first, and of equals the one that was set first. */
  readonly #timers: Timer[] = [];
  /**
   * Resolves once nothing is left to do at this moment. Set it if work happens outside this
   * process.
   */
  settled: () => Promise<void> = settled;

  // Whole, as `Date.now()` is.
  now = (): number => Math.floor(this.#now);

  monotonic = (): number => this.#now;

  after = (ms: number, task: () => void): (() => void) => {
    const timer = { at: this.#now + Math.max(0, ms), task };
    this.#timers.splice(this.#placeAfter(timer.at), 0, timer);
    return () => {
      const place = this.#timers.lastIndexOf(timer, Math.max(0, this.#placeAfter(timer.at) - 1));
      if (place !== -1) this.#timers.splice(place, 1);
    };
  };

  /** How many timers are set and not cancelled. */
  get pending(): number {
    return this.#timers.length;
  }

  /**
   * Lets so much time pass: every timer that comes due fires, and all that follows from it happens
   * before the next one.
   */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settled();
    for (let next = this.#timers[0]; next && next.at <= until; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = next.at;
      next.task();
      // Those of the same moment belong together, as they do in Node.
      if (this.#timers[0]?.at !== next.at) await this.settled();
    }
    this.#now = until;
    await this.settled();
  }

  /** How many timers come no later. By bisection: some tests set tens of thousands. */
  #placeAfter(at: number): number {
    let [from, to] = [0, this.#timers.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#timers[middle] as Timer).at <= at) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

let settling: Promise<void> = Promise.resolve();

/**
 * Waits until nothing is left to do at this moment: promises run between turns of the event loop,
 * the relay in them. One wait follows another, for each takes the turns of another for work: with a
 * test that timed out, all later ones would hang.
 */
function settled(): Promise<void> {
  settling = settling.then(async () => {
    for (let quietTurns = 0; quietTurns < 2; ) {
      await new Promise((resolve) => setImmediate(resolve));
      quietTurns = process.getActiveResourcesInfo().includes("Immediate") ? 0 : quietTurns + 1;
    }
  });
  return settling;
}
