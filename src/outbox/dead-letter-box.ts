import type { OutboxEvent } from "../events.js";
import type { DeadLetter, Death, DeathReason, LiveEvent } from "./outbox.js";

/** A dead letter together with what a retry of it needs to know. */
export interface Buried {
  readonly letter: DeadLetter;
  readonly event: OutboxEvent;
  readonly maybeTaken: boolean;
}

/** The dead letters of a process: bounded, oldest first. */
export class DeadLetterBox {
  readonly #max: number;
  readonly #buried = new Map<string, Buried>();
  readonly #counts: Record<DeathReason, number> = { rejected: 0, unconfirmed: 0, expired: 0 };

  constructor(max: number) {
    this.#max = max;
  }

  get counts(): Readonly<Record<DeathReason, number>> {
    return { ...this.#counts };
  }

  get(id: string): Buried | undefined {
    return this.#buried.get(id);
  }

  /** Keeps it. Returns the one that had to make room, if one had to. */
  bury({ event, maybeTaken }: LiveEvent, death: Death, diedAt: number): Buried | undefined {
    const { id, kind, data, createdAt } = event;
    const letter = { id, kind, event: data, ...death, createdAt, diedAt };
    this.#buried.set(id, { letter, event, maybeTaken });
    this.#counts[death.reason]++;
    if (this.#buried.size <= this.#max) return undefined;
    const [oldest] = this.#buried.keys();
    return this.take(oldest as string);
  }

  take(id: string): Buried | undefined {
    const buried = this.#buried.get(id);
    if (!buried) return undefined;
    this.#buried.delete(id);
    this.#counts[buried.letter.reason]--;
    return buried;
  }

  list(limit: number): DeadLetter[] {
    return [...this.#buried.values()].slice(0, limit).map(({ letter }) => letter);
  }

  idsInOrder(): string[] {
    const inOrder = [...this.#buried.values()].sort((a, b) => a.letter.createdAt - b.letter.createdAt);
    return inOrder.map(({ letter }) => letter.id);
  }
}
