import type { EventKind, OutboxEvent } from "../events.js";
import { KINDS, priorityOf } from "../kinds.js";

/** How urgent an event is: as an event of its own kind, or as the most urgent event that waits behind it. */
export type Urgency = EventKind;

/** The most urgent first. */
export const URGENCIES: readonly Urgency[] = KINDS;

export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  return priorityOf(one) > priorityOf(other);
}

/**
 * How urgent each live event is. For a store that reads all of them; the outboxes of this package have an index instead.
 *
 * @param rows of one destination, in the order in which they came.
 */
export function urgenciesOf<Row extends { readonly event: OutboxEvent }>(
  rows: readonly Row[],
): (readonly [Row, Urgency])[] {
  const behind = new Map<string, Urgency>();
  const lastFirst = [...rows].reverse().map((row) => {
    const { kind, data } = row.event;
    const keys = [`click ${data.clickId ?? ""}`, `session ${data.sessionId ?? ""}`].filter(
      (key) => !key.endsWith(" "),
    );
    const candidates = [kind, ...keys.map((key) => behind.get(key))];
    const urgency = URGENCIES.find((each) => candidates.includes(each)) ?? kind;
    for (const key of keys) behind.set(key, urgency);
    return [row, urgency] as const;
  });
  return lastFirst.reverse();
}
