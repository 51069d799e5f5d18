import type { OutboxEvent } from "../../events.js";
import { type Claim, type DeadLetter, type DeathReason, deadLetterOf, type Verdict } from "../outbox.js";

/** A dead letter together with what a retry of it needs to know. */
export interface Kept {
  readonly letter: DeadLetter;
  readonly event: OutboxEvent;
  readonly maybeTaken: boolean;
}

/** The dead letters of a process: bounded, oldest first. */
export class DeadLetterBox {
  readonly #max: number;
  readonly #kept = new Map<string, Kept>();
  readonly #counts: Record<DeathReason, number> = { rejected: 0, unconfirmed: 0, expired: 0 };

  constructor(max: number) {
    this.#max = max;
  }

  get counts(): Readonly<Record<DeathReason, number>> {
    return { ...this.#counts };
  }

  get(id: string): Kept | undefined {
    return this.#kept.get(id);
  }

  /** Keeps it. Returns the one that had to give way, if one had to. */
  keep(
    { event, history: { maybeTaken } }: Claim,
    verdict: Verdict & { readonly type: "dead" },
    diedAt: number,
  ): Kept | undefined {
    this.#kept.set(event.id, { letter: deadLetterOf(event, verdict, diedAt), event, maybeTaken });
    this.#counts[verdict.reason]++;
    if (this.#kept.size <= this.#max) return undefined;
    const [oldest] = this.#kept.keys();
    return this.take(oldest as string);
  }

  take(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    if (!kept) return undefined;
    this.#kept.delete(id);
    this.#counts[kept.letter.reason]--;
    return kept;
  }

  list(limit: number): DeadLetter[] {
    return [...this.#kept.values()].slice(0, limit).map(({ letter }) => letter);
  }

  idsInOrder(): string[] {
    const inOrder = [...this.#kept.values()].sort((a, b) => a.letter.createdAt - b.letter.createdAt);
    return inOrder.map(({ letter }) => letter.id);
  }
}
