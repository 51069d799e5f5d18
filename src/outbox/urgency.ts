import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { KINDS, priorityOf } from "../conversion/kinds.js";

/** As urgent as an event of this kind: its own, or that of the most urgent event behind it. */
export type Urgency = EventKind;

/** The most urgent first. */
export const URGENCIES: readonly Urgency[] = KINDS;

export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  return priorityOf(one) > priorityOf(other);
}

/** How urgent each event is. `rows`: all of a destination, in order. Others have an index. */
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
