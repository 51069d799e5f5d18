import type { Clock } from "../../src/shared/clock.js";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
  cancelled: boolean;
}

/** A clock that a test turns by hand: three days pass in a second. */
export class FakeClock implements Clock {
  #now = Date.UTC(2025, 0, 1);
  #order = 0;
  /** A binary heap: the earliest first, and of equals the one that was set first. */
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
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, task, cancelled: false };
    this.#timers.push(timer);
    this.#siftUp(this.#timers.length - 1);
    return () => {
      timer.cancelled = true;
    };
  };

  /** How many timers are set and not cancelled. */
  get pending(): number {
    return this.#timers.filter(({ cancelled }) => !cancelled).length;
  }

  /**
   * Lets so much time pass: every timer that comes due fires, and all that follows from it happens
   * before the next one.
   */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settled();
    for (let next = this.#timers[0]; next && next.at <= until; next = this.#timers[0]) {
      this.#removeFirst();
      if (next.cancelled) continue;
      this.#now = next.at;
      next.task();
      // Those of the same moment belong together, as they do in Node.
      if (this.#timers[0]?.at !== next.at) await this.settled();
    }
    this.#now = until;
    await this.settled();
  }

  #before(a: number, b: number): boolean {
    const [one, other] = [this.#timers[a] as Timer, this.#timers[b] as Timer];
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#timers[a] as Timer, this.#timers[b] as Timer];
    this.#timers[a] = other;
    this.#timers[b] = one;
  }

  #siftUp(at: number): void {
    for (let child = at; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  #removeFirst(): void {
    const last = this.#timers.length - 1;
    this.#swap(0, last);
    this.#timers.pop();
    for (let parent = 0; ; ) {
      const [left, right] = [2 * parent + 1, 2 * parent + 2];
      let least = parent;
      if (left < last && this.#before(left, least)) least = left;
      if (right < last && this.#before(right, least)) least = right;
      if (least === parent) return;
      this.#swap(parent, least);
      parent = least;
    }
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
