import { byKind } from "../../../conversion/kinds.js";
import { earliestOf, type OutboxCounts, type QueuedOfKind, withScheduled } from "../../counts.js";

export type DestinationCounts = Required<Pick<OutboxCounts, "dead" | "byKind" | "scheduled">>;

/** What the file has of one destination. Default: of all. */
export function countsOf(
  counts: Readonly<Record<string, DestinationCounts>>,
  destination?: number,
): Omit<OutboxCounts, "trouble"> {
  const own = Object.keys(counts).flatMap((name) =>
    destination === undefined || name === String(destination) ? (counts[name] ?? []) : [],
  );
  const sumOf = (of: (each: DestinationCounts) => number) => own.reduce((sum, each) => sum + of(each), 0);
  const kinds = byKind((kind) => together(own.map(({ byKind }) => byKind[kind])));
  const scheduled = {
    count: sumOf(({ scheduled }) => scheduled.count),
    next: earliestOf(own.map(({ scheduled }) => scheduled.next)),
  };
  const waiting = Object.entries(counts).map(([name, { byKind, scheduled }]) => {
    const { queued } = together(Object.values(byKind));
    return [name, queued + scheduled.count] as const;
  });
  const dead = {
    rejected: sumOf(({ dead }) => dead.rejected),
    unconfirmed: sumOf(({ dead }) => dead.unconfirmed),
    expired: sumOf(({ dead }) => dead.expired),
  };
  return {
    ...withScheduled({ ...together(Object.values(kinds)), dead, byKind: kinds }, scheduled),
    byDestination: Object.fromEntries(
      waiting.filter(([name, number]) => number > 0 || name === String(destination)),
    ),
  };
}

function together(all: readonly QueuedOfKind[]): QueuedOfKind {
  return {
    queued: all.reduce((sum, { queued }) => sum + queued, 0),
    oldest: earliestOf(all.map(({ oldest }) => oldest)),
  };
}
