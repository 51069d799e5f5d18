import type { EventKind } from "../../events.js";
import { Ring } from "../../shared/ring.js";

/** The ids of the events that an outbox holds, and of the last of each kind that it is done with. */
export class KnownIds {
  readonly #known = new Set<string>();
  readonly #done: Record<EventKind, Ring<string>>;

  /** @param sizes of how many of each kind that the outbox is done with. */
  constructor({ click, registration, payment }: Readonly<Record<EventKind, number>>) {
    this.#done = { click: new Ring(click), registration: new Ring(registration), payment: new Ring(payment) };
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  add(id: string): void {
    this.#known.add(id);
  }

  /** The outbox is done with it: it stays known until as many others of its kind as there is space for are done with, too. */
  retire(id: string, kind: EventKind): void {
    const oldest = this.#done[kind].replaceOldest(id);
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  /** As if it had never come. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}
