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
}

const EPOCH = Date.UTC(2025, 0, 1);
const { setImmediate: nextTurn } = globalThis;

export function ownerNamed(name: string): Owner {
  return { name, ready: [], isAlive: true, isStalled: false };
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
  readonly #timers: Timer[] = [];
  readonly #owners = new Set<Owner>([this.outside]);
  readonly #held = new Set<Promise<unknown>>();
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
    const timer = {
      at: this.#elapsed + Math.max(0, ms),
      order: this.#order++,
      owner,
      task,
      cancelled: false,
    };
    this.#timers.push(timer);
    this.#rise(this.#timers.length - 1);
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
    for (let next = this.#timers[0]; next && next.at <= until; next = this.#timers[0]) {
      this.#removeFirst();
      if (next.cancelled || !next.owner.isAlive) continue;
      this.#elapsed = Math.max(this.#elapsed, next.at);
      const timer = next;
      this.soon(next.owner, () => timer.cancelled || timer.task());
      if (this.#timers[0]?.at === next.at) continue;
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

  #before(a: number, b: number): boolean {
    const [one, other] = [this.#timers[a] as Timer, this.#timers[b] as Timer];
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#timers[a] as Timer, this.#timers[b] as Timer];
    this.#timers[a] = other;
    this.#timers[b] = one;
  }

  #rise(at: number): void {
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
