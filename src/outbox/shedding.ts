import type { EventKind, OutboxEvent } from "../events.js";

/** Which kind gives way to which when an outbox is full: the first is shed first. */
export const SHEDDING_ORDER: readonly EventKind[] = ["click", "registration", "payment"];

/** The kinds that give way to this one, in the order in which they do. */
export function kindsBelow(kind: EventKind): readonly EventKind[] {
  return SHEDDING_ORDER.slice(0, SHEDDING_ORDER.indexOf(kind));
}

/** Of events or dead letters, oldest first, the one that gives way first. */
export function firstToGiveWay<T extends { readonly kind: EventKind }>(
  oldestFirst: Iterable<T>,
): T | undefined {
  const all = [...oldestFirst];
  const least = SHEDDING_ORDER.find((kind) => all.some((each) => each.kind === kind));
  return all.find(({ kind }) => kind === least);
}

/**
 * Sheds what has to give way to an event of this kind: the oldest of the kinds below it, and no more than is needed. Sheds
 * nothing, and returns `false`, where all of it would not be enough.
 *
 * @param queue.oldestFirst those of a kind that may give way.
 * @param queue.isEnough whether so many events with so many bytes are.
 */
export function shedFor<T extends { readonly size: number }>(
  kind: EventKind,
  queue: {
    oldestFirst(lower: EventKind): Iterable<T>;
    isEnough(events: number, bytes: number): boolean;
    shed(each: T): void;
  },
): boolean {
  while (!queue.isEnough(0, 0)) {
    const given = givingWay(kind, queue);
    if (!given) return false;
    // One at a time: a listener that hears of it may come back with an event at once.
    queue.shed(given);
  }
  return true;
}

function givingWay<T extends { readonly size: number }>(
  kind: EventKind,
  {
    oldestFirst,
    isEnough,
  }: { oldestFirst(lower: EventKind): Iterable<T>; isEnough(events: number, bytes: number): boolean },
): T | undefined {
  let first: T | undefined;
  let events = 0;
  let bytes = 0;
  for (const lower of kindsBelow(kind)) {
    for (const each of oldestFirst(lower)) {
      first ??= each;
      events++;
      bytes += each.size;
      if (isEnough(events, bytes)) return first;
    }
  }
  return undefined;
}
const BYTES_AROUND_TEXTS = 600;

/** About how many bytes of heap a waiting event takes: its texts, the objects around them, and its places in lists. */
export function sizeOf({ data }: OutboxEvent): number {
  let size = BYTES_AROUND_TEXTS;
  for (const value of Object.values(data)) size += typeof value === "string" ? bytesOf(value) : 8;
  return size;
}

// V8 keeps a text in one byte a character, or, where a single one is beyond Latin-1, in two.
function bytesOf(text: string): number {
  return BEYOND_LATIN_1.test(text) ? 2 * text.length : text.length;
}

const BEYOND_LATIN_1 = /[^\0-\xff]/;
