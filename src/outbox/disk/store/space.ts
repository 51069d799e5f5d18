import type { EventKind, OutboxEvent } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../../conversion/kinds.js";
import type { Counts } from "../../queue/counts.js";
import type { Queue } from "../../queue/queue.js";
import { sizeOf } from "../../queue/rows.js";
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

  const total = () =>
    LEAST_URGENT_FIRST.reduce((sum, kind) => {
      const { live, dead } = counts.sizes(kind);
      return sum + bytesOf(live) + bytesOf(dead);
    }, 0);

  /** At most so many bytes could be shed for an event of this kind. */
  function sheddable(kind: EventKind): number {
    const lower = kindsBelow(kind).reduce((sum, each) => sum + bytesOf(counts.sizes(each).live), 0);
    return [...kindsBelow(kind), kind].reduce((sum, each) => sum + bytesOf(counts.sizes(each).dead), lower);
  }

  async function evict(kind: EventKind): Promise<boolean> {
    if (counts.sizes(kind).dead.number === 0) return false;
    for (const destination of counts.destinations) {
      const evicted = await queue.evictOldest(destination, kind, 1);
      for (const { event } of evicted) onDropped({ event, reason: "dead-letters-full" });
      if (evicted.length > 0) return true;
    }
    return false;
  }

  /** Sheds an event of this urgency, of the new one's destination if there is one. */
  async function shed(coming: OutboxEvent, urgency: EventKind): Promise<boolean> {
    const others = counts.destinations.filter((each) => each !== coming.destination);
    for (const destination of [coming.destination, ...others]) {
      // An event is never less urgent than its kind.
      const mayHaveOne = [...kindsBelow(urgency), urgency].some((kind) => counts.of(destination, kind) > 0);
      if (!mayHaveOne) continue;
      const events = await queue.shedFor([coming], urgency, 1, destination);
      for (const event of events) {
        counts.add(destination, event.kind, -1, { bytes: -sizeOf(event) });
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
      return total() + bytesOf({ number: events.length, bytes }) <= maxBytes;
    },
    /** If there is too little to shed for it, sheds nothing and resolves to `false`. */
    async make(event: OutboxEvent): Promise<boolean> {
      const { kind } = event;
      const size = bytesOf({ number: 1, bytes: sizeOf(event) });
      const missing = () => total() + size - maxBytes;
      if (missing() > sheddable(kind)) return false;
      for (const lower of [...kindsBelow(kind), kind]) {
        while (missing() > 0 && (await evict(lower)));
        while (lower !== kind && missing() > 0 && (await shed(event, lower)));
      }
      return missing() <= 0;
    },
  };
}
