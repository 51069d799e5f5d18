import type { EventKind, OutboxEvent } from "../../../conversion/events.js";
import { type CountRow, type Counts, changeOf, isDead } from "../../queue/counts.js";
import type { Queue } from "../../queue/queue.js";
import { sizeOf } from "../../queue/rows.js";
import { Scope } from "../../queue/scope.js";
import { kindsBelow } from "../../shedding.js";
import type { Dropped } from "./requests.js";

// Measured, an upper estimate: an event without its data, its entries in the indexes, and its
// visitor's queue.
const ROW_BYTES = 480;
// Some texts leave half a page empty.
const TEXT_BYTES = 1.6;

const bytesOf = ({ number, bytes }: { number: number; bytes: number }) =>
  ROW_BYTES * number + TEXT_BYTES * bytes;

/**
 * Bounds the bytes of all events, dead letters included. If there is no space, sheds less important
 * ones: clicks first, of each kind its dead letters first, and of these the oldest.
 */
export function createSpace(options: {
  maxBytes: number;
  counts: Counts;
  queue: Pick<Queue, "shedFor" | "evictOldest">;
  onDropped: (dropped: Dropped) => void;
}) {
  const { maxBytes, counts, queue, onDropped } = options;

  /** Of all client ids. */
  function bytesThat(isMeant: (row: CountRow) => boolean): number {
    return bytesOf({ number: counts.sum("number", isMeant), bytes: counts.sum("bytes", isMeant) });
  }

  /** At most so many bytes could be shed for an event of this kind. */
  const sheddable = (kind: EventKind) =>
    bytesThat((row) => kindsBelow(kind).includes(row.kind) || (row.kind === kind && isDead(row)));

  /** Whose events may be shed, those of a client id first. */
  function scopes(isMeant: (row: CountRow) => boolean, first?: number): Scope[] {
    const some = counts.rows.filter((row) => row.number > 0 && isMeant(row));
    return [...new Set(some.map(({ destination }) => destination))]
      .sort((one, other) => Number(other === first) - Number(one === first))
      .map((each) => new Scope(each));
  }

  async function evict(kind: EventKind): Promise<boolean> {
    for (const of of scopes((row) => row.kind === kind && isDead(row))) {
      const evicted = await queue.evictOldest(kind, 1, of);
      for (const { event } of evicted) onDropped({ event, reason: "dead-letters-full" });
      if (evicted.length > 0) return true;
    }
    return false;
  }

  /** Sheds an event of this urgency, of the new one's client id if there is one. */
  async function shed(coming: OutboxEvent, urgency: EventKind): Promise<boolean> {
    // An event is never less urgent than its kind.
    const kinds = [...kindsBelow(urgency), urgency];
    for (const of of scopes((row) => kinds.includes(row.kind) && !isDead(row), coming.destination)) {
      const events = await queue.shedFor([coming], urgency, 1, of);
      for (const event of events) {
        counts.add(changeOf(event, "queued", -1, { bytes: -sizeOf(event) }));
        onDropped({ event, reason: "full" });
      }
      if (events.length > 0) return true;
    }
    return false;
  }

  return {
    /** Whether these fit beside all others. */
    fits(events: readonly OutboxEvent[]): boolean {
      const bytes = events.reduce((sum, event) => sum + sizeOf(event), 0);
      return bytesThat(() => true) + bytesOf({ number: events.length, bytes }) <= maxBytes;
    },
    /** If there is too little to shed for it, sheds nothing and resolves to `false`. */
    async make(event: OutboxEvent): Promise<boolean> {
      const { kind } = event;
      const size = bytesOf({ number: 1, bytes: sizeOf(event) });
      const missing = () => bytesThat(() => true) + size - maxBytes;
      if (missing() > sheddable(kind)) return false;
      for (const lower of [...kindsBelow(kind), kind]) {
        while (missing() > 0 && (await evict(lower)));
        while (lower !== kind && missing() > 0 && (await shed(event, lower)));
      }
      return missing() <= 0;
    },
  };
}
