import { byKind } from "../../kinds.js";
import { type OutboxCounts, type QueuedOfKind, type ScheduledCount, withScheduled } from "../counts.js";
import type { DestinationCounts, Snapshot } from "./protocol.js";

const NONE_SCHEDULED: ScheduledCount = { count: 0, next: null };
const NONE_QUEUED: QueuedOfKind = { queued: 0, oldest: null };

/** What a snapshot says of one destination, or of all. */
export function countsOf(
  { counts }: Pick<Snapshot, "counts">,
  destination?: number,
): Omit<OutboxCounts, "trouble"> {
  const own =
    destination === undefined
      ? Object.values(counts)
      : [counts[destination]].filter((each) => each !== undefined);
  const sumOf = (of: (each: DestinationCounts) => number) => own.reduce((sum, each) => sum + of(each), 0);
  const queuedOf = (kind: keyof DestinationCounts["byKind"]) =>
    own.map(({ byKind }) => byKind[kind]).reduce(together, NONE_QUEUED);
  const kinds = byKind(queuedOf);
  const scheduled = own.map((each) => each.scheduled).reduce(sumOfScheduled, NONE_SCHEDULED);
  const { queued, oldest } = Object.values(kinds).reduce(together, NONE_QUEUED);
  const waiting = Object.entries(counts).map(([name, each]) => {
    const { queued } = Object.values(each.byKind).reduce(together, NONE_QUEUED);
    return [name, queued + each.scheduled.count] as const;
  });
  const dead = {
    rejected: sumOf(({ dead }) => dead.rejected),
    unconfirmed: sumOf(({ dead }) => dead.unconfirmed),
    expired: sumOf(({ dead }) => dead.expired),
  };
  return {
    ...withScheduled({ queued, oldest, dead, byKind: kinds }, scheduled),
    byDestination: Object.fromEntries(
      waiting.filter(([name, number]) => number > 0 || name === String(destination)),
    ),
  };
}

function together(one: QueuedOfKind, other: QueuedOfKind): QueuedOfKind {
  return { queued: one.queued + other.queued, oldest: earlier(one.oldest, other.oldest) };
}

function sumOfScheduled(one: ScheduledCount, other: ScheduledCount): ScheduledCount {
  return { count: one.count + other.count, next: earlier(one.next, other.next) };
}

/** The earlier of two times; `null`: never. */
export function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
