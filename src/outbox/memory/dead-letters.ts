import type { EventKind, OutboxEvent } from "../../events.js";
import { byKind, LEAST_URGENT_FIRST } from "../../kinds.js";
import { type InLine, Line } from "../../shared/line.js";
import {
  type DeadLetter,
  type DeadLetterQuery,
  type DeathReason,
  deadLetterOf,
  isMeant,
} from "../dead-letters.js";
import type { Claim, Verdict } from "../outbox.js";
import { sizeOfLetter } from "../shedding.js";

/** A dead letter, with what a retry needs. */
export interface KeptLetter extends InLine<KeptLetter> {
  readonly letter: DeadLetter;
  readonly event: OutboxEvent;
  readonly maybeTaken: boolean;
  /** In bytes, by a rough count. */
  readonly size: number;
}

/** The dead letters of a process: bounded in number and in bytes, oldest first. Where there are too many, clicks are evicted first, payments last. */
export class DeadLetterBox {
  readonly #max: number;
  readonly #maxBytes: number;
  readonly #kept = new Map<string, KeptLetter>();
  readonly #counts: Record<DeathReason, number> = { rejected: 0, unconfirmed: 0, expired: 0 };
  readonly #kinds: Record<EventKind, Line<KeptLetter>> = byKind(() => new Line());
  #bytes = 0;

  constructor(max: number, maxBytes: number) {
    this.#max = max;
    this.#maxBytes = maxBytes;
  }

  get counts(): Readonly<Record<DeathReason, number>> {
    return { ...this.#counts };
  }

  get bytes(): number {
    return this.#bytes;
  }

  get events(): OutboxEvent[] {
    return [...this.#kept.values()].map(({ event }) => event);
  }

  /** Those of a kind. */
  oldestFirst(kind: EventKind): Iterable<KeptLetter> {
    return this.#kinds[kind];
  }

  keep(
    { event, history: { maybeTaken } }: Claim,
    verdict: Verdict & { readonly type: "dead" },
    diedAt: number,
  ): void {
    const letter = deadLetterOf(event, verdict, diedAt);
    const size = sizeOfLetter(event, verdict);
    this.putBack({ letter, event, maybeTaken, size, before: undefined, after: undefined });
  }

  /** Keeps one again that was taken. */
  putBack(kept: KeptLetter): void {
    const { id, kind, reason } = kept.letter;
    this.#kept.set(id, kept);
    this.#kinds[kind].join(kept);
    this.#counts[reason]++;
    this.#bytes += kept.size;
  }

  /** The one to evict, where there are too many. */
  get tooMany(): KeptLetter | undefined {
    if (this.#kept.size <= this.#max && this.#bytes <= this.#maxBytes) return undefined;
    const kind = LEAST_URGENT_FIRST.find((each) => this.#kinds[each].length > 0);
    return kind && this.#kinds[kind].first;
  }

  take(id: string): KeptLetter | undefined {
    const kept = this.#kept.get(id);
    if (!kept) return undefined;
    this.#kept.delete(id);
    this.#kinds[kept.letter.kind].leave(kept);
    this.#counts[kept.letter.reason]--;
    this.#bytes -= kept.size;
    return kept;
  }

  list({ limit = 100, ...filter }: DeadLetterQuery): DeadLetter[] {
    const letters = [...this.#kept.values()].map(({ letter }) => letter);
    const meant = letters.filter((letter) => isMeant(letter, filter));
    return meant.sort((a, b) => a.diedAt - b.diedAt).slice(0, limit);
  }

  /** In the order in which they happened. */
  inOrder(): DeadLetter[] {
    return this.list({ limit: this.#kept.size }).sort((a, b) => a.createdAt - b.createdAt);
  }
}
