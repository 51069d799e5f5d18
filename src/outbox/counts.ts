import type { EventKind } from "../events.js";
import type { DeathReason } from "./dead-letters.js";

/** What is in an outbox, in numbers. */
export interface OutboxCounts {
  /** Events that wait or are under way, scheduled ones included. */
  readonly queued: number;
  /** The scheduled payments among them; absent if the outbox takes none. */
  readonly scheduled?: ScheduledCount;
  /** Dead letters, by reason. */
  readonly dead: Readonly<Record<DeathReason, number>>;
  /** When the oldest of the queued happened, in milliseconds since the epoch; `null` where there is none, or none but scheduled ones. */
  readonly oldest: number | null;
  /** The queued ones of each kind; absent where the outbox does not know. */
  readonly byKind?: Readonly<Record<EventKind, QueuedOfKind>>;
  /** How many are queued for each destination, this one's included; absent where the storage is this outbox's alone. */
  readonly byDestination?: Readonly<Record<string, number>>;
  /** What is wrong with the storage at this moment, in words; absent where nothing is. */
  readonly trouble?: string;
}

/** How many events of one kind are queued, and when the oldest happened, in milliseconds since the epoch. */
export interface QueuedOfKind {
  /** Events that wait or are under way. */
  readonly queued: number;
  /** When the oldest of them happened, in milliseconds since the epoch; `null` where there is none. */
  readonly oldest: number | null;
}

/** The payments that wait for their `notBefore`. */
export interface ScheduledCount {
  /** How many there are. */
  readonly count: number;
  /** When the first of them is due, in milliseconds since the epoch; `null` if there is none. */
  readonly next: number | null;
}

/** Counts, and the scheduled payments that they lack. */
export function withScheduled<Counts extends OutboxCounts>(
  counts: Counts,
  scheduled: ScheduledCount,
): Counts & { readonly scheduled: ScheduledCount } {
  const { queued, byKind } = counts;
  const payment = byKind && { ...byKind.payment, queued: byKind.payment.queued + scheduled.count };
  const more = payment && { byKind: { ...byKind, payment } };
  return { ...counts, ...more, queued: queued + scheduled.count, scheduled };
}

/** How many events are queued and not scheduled. */
export function dueIn({ queued, scheduled }: Pick<OutboxCounts, "queued" | "scheduled">): number {
  return queued - (scheduled?.count ?? 0);
}
