import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { byKind, LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import { LinkedList, type ListLinks } from "../../shared/linked-list.js";
import type { Claim, Verdict } from "../claim.js";
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterQuery,
  type DeadLetterSum,
  type DeathReason,
  deadLetterOf,
  matchesFilter,
} from "../dead-letters.js";
import { sizeOfLetter } from "../shedding.js";

export interface KeptLetter extends ListLinks<KeptLetter> {
  readonly letter: DeadLetter;
  readonly event: OutboxEvent;
  readonly maybeTaken: boolean;
  /** In bytes, roughly. */
  readonly size: number;
}

/** Dead letters, oldest first, bounded in number and bytes. Payments are the last to be evicted. */
export class DeadLetterBox {
  readonly #max: number;
  readonly #maxBytes: number;
  readonly #kept = new Map<string, KeptLetter>();
  readonly #counts: Record<DeathReason, number> = { rejected: 0, unconfirmed: 0, expired: 0 };
  readonly #kinds: Record<EventKind, LinkedList<KeptLetter>> = byKind(() => new LinkedList());
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

  putBack(kept: KeptLetter): void {
    const { id, kind, reason } = kept.letter;
    this.#kept.set(id, kept);
    this.#kinds[kind].append(kept);
    this.#counts[reason]++;
    this.#bytes += kept.size;
  }

  /** The one to evict, if there are too many. */
  get tooMany(): KeptLetter | undefined {
    if (this.#kept.size <= this.#max && this.#bytes <= this.#maxBytes) return undefined;
    const kind = LEAST_URGENT_FIRST.find((each) => this.#kinds[each].length > 0);
    return kind && this.#kinds[kind].first;
  }

  take(id: string): KeptLetter | undefined {
    const kept = this.#kept.get(id);
    if (!kept) return undefined;
    this.#kept.delete(id);
    this.#kinds[kept.letter.kind].remove(kept);
    this.#counts[kept.letter.reason]--;
    this.#bytes -= kept.size;
    return kept;
  }

  list({ limit = 100, id, ...filter }: DeadLetterQuery = {}): DeadLetter[] {
    const letters = this.matching(filter);
    return (id === undefined ? letters : letters.filter((letter) => letter.id === id)).slice(0, limit);
  }

  /** The first to die first. */
  matching(filter: DeadLetterFilter = {}): DeadLetter[] {
    const letters = [...this.#kept.values()].map(({ letter }) => letter);
    return letters.filter((letter) => matchesFilter(letter, filter)).sort((a, b) => a.diedAt - b.diedAt);
  }

  sums(filter: DeadLetterFilter = {}): DeadLetterSum[] {
    const sums = new Map<string, DeadLetterSum>();
    for (const { kind, reason, event } of this.matching(filter)) {
      const { count = 0, amount = 0 } = sums.get(`${kind} ${reason}`) ?? {};
      const more = "leadValue" in event ? event.leadValue : 0;
      sums.set(`${kind} ${reason}`, { kind, reason, count: count + 1, amount: amount + more });
    }
    return [...sums.values()];
  }
}
