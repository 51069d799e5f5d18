import type { EventKind } from "../../conversion/events.js";
import { byKind } from "../../conversion/kinds.js";
import { Ring } from "../../shared/ring.js";

/** The ids of the events in an outbox, and of the last `sizes` of each kind that have left it. */
export class KnownIds {
  readonly #known = new Set<string>();
  readonly #cancelled = new Set<string>();
  readonly #done: Record<EventKind, Ring<string>>;

  constructor(sizes: Readonly<Record<EventKind, number>>) {
    this.#done = byKind((kind) => new Ring(sizes[kind]));
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  add(id: string): void {
    this.#known.add(id);
  }

  /** The event has left. Its id stays known until its kind's ring is full of later ones. */
  retire(id: string, kind: EventKind): void {
    const oldest = this.#done[kind].replaceOldest(id);
    if (oldest === undefined) return;
    this.#known.delete(oldest);
    this.#cancelled.delete(oldest);
  }

  /** The payment has left, and was never sent. */
  cancel(id: string): void {
    this.#cancelled.add(id);
    this.retire(id, "payment");
  }

  isCancelled(id: string): boolean {
    return this.#cancelled.has(id);
  }

  /** As if the event had never come. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}
