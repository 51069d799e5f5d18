import type { EventKind, OutboxEvent } from "../events.js";

/** Which kind gives way to which when an outbox is full: the first is shed first. */
export const SHEDDING_ORDER: readonly EventKind[] = ["click", "registration", "payment"];

/** The kinds that give way to this one, in the order in which they do. */
export function kindsBelow(kind: EventKind): readonly EventKind[] {
  return SHEDDING_ORDER.slice(0, SHEDDING_ORDER.indexOf(kind));
}

/** What gives way to an event of this kind: the oldest of the first kind below it that has one. */
export function oldestBelow<T>(
  kind: EventKind,
  oldestOf: (lower: EventKind) => T | undefined,
): T | undefined {
  for (const lower of kindsBelow(kind)) {
    const oldest = oldestOf(lower);
    if (oldest !== undefined) return oldest;
  }
  return undefined;
}

const BYTES_AROUND_TEXTS = 600;

/** About how many bytes of heap a waiting event takes: its texts, the objects around them, and its places in lists. */
export function sizeOf({ data }: OutboxEvent): number {
  let size = BYTES_AROUND_TEXTS;
  for (const value of Object.values(data)) size += typeof value === "string" ? value.length : 8;
  return size;
}
