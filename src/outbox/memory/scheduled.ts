import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import type { ScheduledCount } from "../counts.js";
import { sizeOf } from "../shedding.js";

interface Waiting {
  readonly event: OutboxEvent;
  readonly at: number;
  /** The index in the heap. */
  place: number;
}

/** The payments that wait for their `notBefore`, as a binary heap: the first due is in front. */
export class Scheduled {
  readonly #heap: Waiting[] = [];
  readonly #byId = new Map<string, Waiting>();
  readonly #clock: Clock;
  readonly #onDue: (event: OutboxEvent) => void;
  #cancelTimer = () => {};
  #bytes = 0;

  /** Removes each payment that is due, and calls `onDue` as if it had happened at that time. */
  constructor(clock: Clock, onDue: (event: OutboxEvent) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get count(): ScheduledCount {
    return { count: this.#heap.length, next: this.#heap[0]?.at ?? null };
  }

  get events(): OutboxEvent[] {
    return this.#heap.map(({ event }) => event);
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  add(event: OutboxEvent): void {
    const waiting = { event, at: notBeforeOf(event) ?? 0, place: this.#heap.length };
    this.#byId.set(event.id, waiting);
    this.#heap.push(waiting);
    this.#bytes += sizeOf(event);
    this.#siftUp(waiting);
    if (waiting.place === 0) this.#setTimer();
  }

  take(id: string): OutboxEvent | undefined {
    const waiting = this.#byId.get(id);
    if (!waiting) return undefined;
    this.#byId.delete(id);
    this.#bytes -= sizeOf(waiting.event);
    const last = this.#heap.pop() as Waiting;
    if (last !== waiting) {
      this.#put(last, waiting.place);
      this.#siftUp(last);
      this.#siftDown(last);
    }
    return waiting.event;
  }

  stop(): void {
    this.#cancelTimer();
  }

  #setTimer(): void {
    this.#cancelTimer();
    const [first] = this.#heap;
    if (!first) return;
    const inMs = Math.max(0, first.at - this.#clock.now());
    this.#cancelTimer = this.#clock.after(inMs, () => this.#release());
  }

  #release(): void {
    for (let [first] = this.#heap; first && first.at <= this.#clock.now(); [first] = this.#heap) {
      this.take(first.event.id);
      this.#onDue({ ...first.event, createdAt: first.at });
    }
    this.#setTimer();
  }

  #siftUp(waiting: Waiting): void {
    while (waiting.place > 0) {
      const parent = this.#heap[(waiting.place - 1) >> 1] as Waiting;
      if (parent.at <= waiting.at) return;
      this.#swap(waiting, parent);
    }
  }

  #siftDown(waiting: Waiting): void {
    for (;;) {
      const children = this.#heap.slice(2 * waiting.place + 1, 2 * waiting.place + 3);
      const [first] = children.sort((one, other) => one.at - other.at);
      if (!first || waiting.at <= first.at) return;
      this.#swap(waiting, first);
    }
  }

  #swap(one: Waiting, other: Waiting): void {
    const { place } = one;
    this.#put(one, other.place);
    this.#put(other, place);
  }

  #put(waiting: Waiting, place: number): void {
    waiting.place = place;
    this.#heap[place] = waiting;
  }
}
