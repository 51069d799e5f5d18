import type { EventKind } from "../events.js";

/** How urgent an event is: as an event of its own kind, or as the most urgent event that waits behind it. */
export type Urgency = EventKind;

/** The most urgent first. */
export const URGENCIES: readonly Urgency[] = ["payment", "registration", "click"];

export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  return URGENCIES.indexOf(one) < URGENCIES.indexOf(other);
}
