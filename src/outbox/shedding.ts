import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../conversion/kinds.js";
import type { Death } from "./dead-letters.js";

/** Shed for this one, in that order. */
export function kindsBelow(kind: EventKind): readonly EventKind[] {
  return LEAST_URGENT_FIRST.slice(0, LEAST_URGENT_FIRST.indexOf(kind));
}

export interface Sheddable<T extends { readonly size: number }> {
  /** Those that may be shed. */
  oldestFirst(kind: EventKind): Iterable<T>;
  /** Shed before live events of their kind, and for a live event of their own kind. */
  dead?(kind: EventKind): Iterable<T>;
  /** Whether it is enough to shed so many live events and bytes. */
  isEnough(events: number, bytes: number): boolean;
  shed(each: T): void;
}

/**
 * Makes space for an event of this kind: sheds clicks first, payments last, of each kind the
 * oldest, and no more than needed. If all would not be enough, sheds nothing and returns `false`.
 */
export function shedFor<T extends { readonly size: number }>(kind: EventKind, from: Sheddable<T>): boolean {
  while (!from.isEnough(0, 0)) {
    const victim = victimFor(kind, from);
    if (!victim) return false;
    // One at a time: a listener may report another event at once.
    from.shed(victim);
  }
  return true;
}

function victimFor<T extends { readonly size: number }>(
  kind: EventKind,
  { oldestFirst, dead = () => [], isEnough }: Sheddable<T>,
): T | undefined {
  let first: T | undefined;
  let events = 0;
  let bytes = 0;
  for (const lower of [...kindsBelow(kind), kind]) {
    for (const each of dead(lower)) {
      first ??= each;
      bytes += each.size;
      if (isEnough(events, bytes)) return first;
    }
    if (lower === kind) break;
    for (const each of oldestFirst(lower)) {
      first ??= each;
      events++;
      bytes += each.size;
      if (isEnough(events, bytes)) return first;
    }
  }
  return undefined;
}

/** What dead letters take at most of an outbox's bytes. The rest is for live events. */
export const SHARE_OF_DEAD_LETTERS = 0.5;

const BYTES_AROUND_TEXTS = 700;

/** Bytes of heap, roughly: an event's texts, the objects around them, its entries in lists. */
export function sizeOf({ data }: OutboxEvent): number {
  let size = BYTES_AROUND_TEXTS;
  for (const value of Object.values(data)) size += typeof value === "string" ? bytesOf(value) : 8;
  return size;
}

/** Its event included. */
export function sizeOfLetter(event: OutboxEvent, { code = "", message = "" }: Death): number {
  return sizeOf(event) + bytesOf(code) + bytesOf(message);
}

// V8 stores a text with one byte a character, or two if any character is beyond Latin-1.
function bytesOf(text: string): number {
  return BEYOND_LATIN_1.test(text) ? 2 * text.length : text.length;
}

const BEYOND_LATIN_1 = /[^\0-\xff]/;
