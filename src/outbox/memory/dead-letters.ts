import type { EventKind, OutboxEvent } from "../../events.js";
import {
  type DeadLetter,
  type DeadLetterQuery,
  type DeathReason,
  deadLetterOf,
  isMeant,
} from "../dead-letters.js";
import type { Claim, Verdict } from "../outbox.js";
import { SHEDDING_ORDER } from "../shedding.js";

/** A dead letter together with what a retry of it needs to know. */
export interface Kept {
  readonly letter: DeadLetter;
  readonly event: OutboxEvent;
  readonly maybeTaken: boolean;
}

/** The dead letters of a process: bounded, oldest first. Where there are too many, clicks give way first and payments last. */
export class DeadLetterBox {
  readonly #max: number;
  readonly #kept = new Map<string, Kept>();
  readonly #counts: Record<DeathReason, number> = { rejected: 0, unconfirmed: 0, expired: 0 };
  readonly #kinds: Record<EventKind, number> = { click: 0, registration: 0, payment: 0 };

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
    this.#kinds[event.kind]++;
    if (this.#kept.size <= this.#max) return undefined;
    const least = SHEDDING_ORDER.find((kind) => this.#kinds[kind] > 0);
    for (const [id, kept] of this.#kept) if (kept.letter.kind === least) return this.take(id);
    return undefined;
  }

  take(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    if (!kept) return undefined;
    this.#kept.delete(id);
    this.#counts[kept.letter.reason]--;
    this.#kinds[kept.letter.kind]--;
    return kept;
  }

  list({ limit = 100, ...filter }: DeadLetterQuery): DeadLetter[] {
    const letters = [...this.#kept.values()].map(({ letter }) => letter);
    return letters.filter((letter) => isMeant(letter, filter)).slice(0, limit);
  }

  /** In the order in which they happened. */
  inOrder(): DeadLetter[] {
    return this.list({ limit: this.#kept.size }).sort((a, b) => a.createdAt - b.createdAt);
  }
}
