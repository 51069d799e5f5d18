import { byKind } from "../../kinds.js";
import type { OutboxCounts, QueuedOfKind } from "../outbox.js";
import type { DestinationCounts, Snapshot } from "./protocol.js";

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
  const { queued, oldest } = Object.values(kinds).reduce(together, NONE_QUEUED);
  const waiting = Object.entries(counts).map(
    ([name, each]) => [name, Object.values(each.byKind).reduce(together, NONE_QUEUED).queued] as const,
  );
  return {
    queued,
    oldest,
    dead: {
      rejected: sumOf(({ dead }) => dead.rejected),
      unconfirmed: sumOf(({ dead }) => dead.unconfirmed),
      expired: sumOf(({ dead }) => dead.expired),
    },
    byKind: kinds,
    byDestination: Object.fromEntries(
      waiting.filter(([name, number]) => number > 0 || name === String(destination)),
    ),
  };
}

function together(one: QueuedOfKind, other: QueuedOfKind): QueuedOfKind {
  return { queued: one.queued + other.queued, oldest: earlier(one.oldest, other.oldest) };
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
