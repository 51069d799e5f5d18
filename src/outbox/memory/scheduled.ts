import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import type { Clock } from "../../shared/clock.js";
import type { ScheduledCount } from "../counts.js";
import { sizeOf } from "../shedding.js";

const dueAt = (event: OutboxEvent) => notBeforeOf(event) ?? 0;

/** The payments that wait for their `notBefore`. */
export class Scheduled {
  /** Sorted by when they are due. Most have the same delay, and are added at the end. */
  readonly #waiting: OutboxEvent[] = [];
  readonly #byId = new Map<string, OutboxEvent>();
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
    const [next] = this.#waiting;
    return { count: this.#waiting.length, next: next ? dueAt(next) : null };
  }

  get events(): OutboxEvent[] {
    return [...this.#waiting];
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  add(event: OutboxEvent): void {
    this.#byId.set(event.id, event);
    this.#waiting.splice(this.#placeAfter(dueAt(event)), 0, event);
    this.#bytes += sizeOf(event);
    if (this.#waiting[0] === event) this.#setTimer();
  }

  take(id: string): OutboxEvent | undefined {
    const event = this.#byId.get(id);
    if (!event) return undefined;
    this.#waiting.splice(this.#waiting.lastIndexOf(event, this.#placeAfter(dueAt(event))), 1);
    this.#remove(event);
    return event;
  }

  stop(): void {
    this.#cancelTimer();
  }

  #remove(event: OutboxEvent): void {
    this.#byId.delete(event.id);
    this.#bytes -= sizeOf(event);
  }

  #setTimer(): void {
    this.#cancelTimer();
    const [first] = this.#waiting;
    if (!first) return;
    const inMs = Math.max(0, dueAt(first) - this.#clock.now());
    this.#cancelTimer = this.#clock.after(inMs, () => this.#release());
  }

  #release(): void {
    for (const event of this.#waiting.splice(0, this.#placeAfter(this.#clock.now()))) {
      this.#remove(event);
      this.#onDue({ ...event, createdAt: dueAt(event) });
    }
    this.#setTimer();
  }

  /** The index behind all that are due by then: a binary search. */
  #placeAfter(at: number): number {
    let [from, to] = [0, this.#waiting.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (dueAt(this.#waiting[middle] as OutboxEvent) <= at) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
