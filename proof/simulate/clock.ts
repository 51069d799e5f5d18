/** Something that lives in virtual time: a process, or the world outside of all processes. */
export interface Owner {
  readonly name: string;
  /** What runs next, in order. */
  readonly ready: (() => void)[];
  isAlive: boolean;
  /** It stands still, as after SIGSTOP: its timers wait. */
  isStalled: boolean;
  /** The process that it is a thread of: with that it stands still, and ends. */
  readonly process?: Owner;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly owner: Owner;
  readonly task: () => void;
  cancelled: boolean;
  /** Timers that are due later: the branches of a skew heap. */
  left?: Timer | undefined;
  right?: Timer | undefined;
}

const EPOCH = Date.UTC(2025, 0, 1);
const { setImmediate: nextTurn } = globalThis;

export const ownerNamed = (name: string): Owner => ({ name, ready: [], isAlive: true, isStalled: false });

/** One heap of two: the timer that is due first, above all others. */
function melded(one: Timer | undefined, other: Timer | undefined): Timer | undefined {
  if (!one || !other) return one ?? other;
  const isBefore = one.at < other.at || (one.at === other.at && one.order < other.order);
  const [first, second] = isBefore ? [one, other] : [other, one];
  // The branches change places, so that the one that grows is another each time.
  [first.left, first.right] = [melded(first.right, second), first.left];
  return first;
}

/** @param isBusy whether it waits for something, and does nothing else meanwhile. */
export function threadOf(process: Owner, name: string, isBusy: () => boolean): Owner {
  let hasEnded = false;
  return {
    name,
    process,
    ready: [],
    get isAlive() {
      return process.isAlive && !hasEnded;
    },
    set isAlive(isAlive) {
      hasEnded = !isAlive;
    },
    get isStalled() {
      return process.isStalled || isBusy();
    },
  };
}

/**
 * Virtual time for several processes in one thread. One task runs at a time, and all microtasks
 * that follow from it run before the next task: so `current` always says whose code runs. Among
 * processes that have something to do, `choose` picks.
 */
export class VirtualClock {
  readonly outside = ownerNamed("outside");
  current: Owner = this.outside;
  /** How far the wall clock was set forward in all, in milliseconds. */
  wallAheadMs = 0;
  tasks = 0;
  /** What a task threw: a process that does not catch it would end. */
  onError: (owner: Owner, error: unknown) => void = () => {};
  readonly #choose: (count: number) => number;
  readonly #owners = new Set<Owner>([this.outside]);
  readonly #held = new Set<Promise<unknown>>();
  #first: Timer | undefined;
  #elapsed = 0;
  #order = 0;

  constructor(choose: (count: number) => number = () => 0) {
    this.#choose = choose;
  }

  now = (): number => Math.floor(EPOCH + this.#elapsed + this.wallAheadMs);

  monotonic = (): number => this.#elapsed;

  /** What a clock says that is never set: in milliseconds since the epoch. */
  unset = (): number => Math.floor(EPOCH + this.#elapsed);

  /** Until this has ended, which happens in real time, nothing else happens and no time passes. */
  hold(work: Promise<unknown>): void {
    const held: Promise<unknown> = work
      .catch((error) => this.onError(this.outside, error))
      .then(() => this.#held.delete(held));
    this.#held.add(held);
  }

  /** Runs the task as a turn of its owner's event loop, after so many milliseconds. */
  after(owner: Owner, ms: number, task: () => void): () => void {
    const timer: Timer = {
      at: this.#elapsed + Math.max(0, ms),
      order: this.#order++,
      owner,
      task,
      cancelled: false,
    };
    this.#first = melded(this.#first, timer);
    return () => {
      timer.cancelled = true;
    };
  }

  soon(owner: Owner, task: () => void): void {
    if (!owner.isAlive) return;
    owner.ready.push(task);
    this.#owners.add(owner);
  }

  /** Lets time pass until then, and calls `each` whenever nothing is left to do at a moment. */
  async passUntil(until: number, each: () => void): Promise<void> {
    await this.settle();
    each();
    let isDue = false;
    for (let next = this.#first; next && next.at <= until; next = this.#first) {
      this.#first = melded(next.left, next.right);
      if (!next.cancelled && next.owner.isAlive) {
        this.#elapsed = Math.max(this.#elapsed, next.at);
        const timer = next;
        this.soon(next.owner, () => timer.cancelled || timer.task());
        isDue = true;
      }
      // All of one moment together, the last of which may be cancelled.
      if (!isDue || this.#first?.at === next.at) continue;
      isDue = false;
      await this.settle();
      each();
    }
    this.#elapsed = Math.max(this.#elapsed, until);
  }

  /** Runs all that is due at this moment. */
  async settle(): Promise<void> {
    for (;;) {
      // All microtasks run before the next turn of the real event loop.
      await new Promise<void>((resolve) => nextTurn(resolve));
      if (this.#held.size > 0) {
        await Promise.all(this.#held);
        continue;
      }
      const owner = this.#next();
      if (!owner) return;
      this.current = owner;
      this.tasks++;
      try {
        owner.ready.shift()?.();
      } catch (error) {
        this.onError(owner, error);
      }
    }
  }

  #next(): Owner | undefined {
    const ready: Owner[] = [];
    for (const owner of this.#owners) {
      if (!owner.isAlive || owner.ready.length === 0) this.#owners.delete(owner);
      else if (!owner.isStalled) ready.push(owner);
    }
    return ready.length > 1 ? ready[this.#choose(ready.length)] : ready[0];
  }
}
