import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../conversion/kinds.js";
import type { Death } from "./dead-letters.js";

/** Events of these kinds are shed for one of this kind, in that order. */
export function kindsBelow(kind: EventKind): readonly EventKind[] {
  return LEAST_URGENT_FIRST.slice(0, LEAST_URGENT_FIRST.indexOf(kind));
}

/** What dead letters take at most of an outbox's bytes. The rest is for live events. */
export const SHARE_OF_DEAD_LETTERS = 0.5;

const BYTES_AROUND_TEXTS = 700;

/** Bytes of heap, roughly: an event's texts, the objects around them, its entries in lists. */
export function heapSizeOf({ data }: OutboxEvent): number {
  let size = BYTES_AROUND_TEXTS;
  for (const value of Object.values(data)) size += typeof value === "string" ? bytesOf(value) : 8;
  return size;
}

/** Its event included. */
export function sizeOfLetter(event: OutboxEvent, { code = "", message = "" }: Death): number {
  return heapSizeOf(event) + bytesOf(code) + bytesOf(message);
}

// V8 stores a text with one byte a character, or two if any character is beyond Latin-1.
function bytesOf(text: string): number {
  return BEYOND_LATIN_1.test(text) ? 2 * text.length : text.length;
}

const BEYOND_LATIN_1 = /[^\0-\xff]/;
