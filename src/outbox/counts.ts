import type { EventKind } from "../conversion/events.js";
import type { DeathReason } from "./dead-letters.js";

/** What is in an outbox, in numbers. */
export interface OutboxCounts {
  /** Events that wait or are under way, scheduled ones included. */
  readonly queued: number;
  /** The scheduled payments among them; absent if the outbox takes none. */
  readonly scheduled?: ScheduledCount;
  /** Dead letters, by reason. */
  readonly dead: Readonly<Record<DeathReason, number>>;
  /** When the oldest unscheduled one happened, in milliseconds since the epoch; `null`: none. */
  readonly oldest: number | null;
  /** The queued ones of each kind; absent if the outbox does not know. */
  readonly byKind?: Readonly<Record<EventKind, QueuedOfKind>>;
  /** Queued of each client id that is meant; absent if the storage is not shared. */
  readonly byDestination?: Readonly<Record<string, number>>;
  /** What is wrong with the storage now; absent if nothing is. */
  readonly trouble?: string;
}

/** The queued events of one kind. */
export interface QueuedOfKind {
  /** Events that wait or are under way. */
  readonly queued: number;
  /** When the oldest of them happened, in milliseconds since the epoch; `null` if there is none. */
  readonly oldest: number | null;
}

/** The payments that wait for their `notBefore`. */
export interface ScheduledCount {
  /** How many there are. */
  readonly count: number;
  /** When the first of them is due, in milliseconds since the epoch; `null` if there is none. */
  readonly next: number | null;
}

export function dueIn({ queued, scheduled }: Pick<OutboxCounts, "queued" | "scheduled">): number {
  return queued - (scheduled?.count ?? 0);
}

/** The earliest of some times; `null`: never. */
export function earliestOf(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
