import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import type { Counts } from "./counts.js";
import type { Evicted } from "./dead-letters.js";

/**
 * Bounds the dead letters: the least important go first, and of these the oldest.
 *
 * @param options.remove removes the oldest of a kind, at most so many. Their ids stay known.
 * @returns a function that evicts the excess after a dead letter of so many bytes was counted, and
 * no more than that: an outbox beyond its bounds, as after a restore, keeps the rest. Never rejects.
 */
export function createEviction(options: {
  max: number;
  maxBytes: number;
  counts: Counts;
  remove: (kind: EventKind, limit: number) => Promise<readonly Evicted[]>;
  onEvicted: (event: OutboxEvent) => void;
}): (bytes: number) => Promise<void> {
  const { max, maxBytes, counts, remove, onEvicted } = options;
  return async function evictFor(bytes) {
    let left = bytes;
    try {
      for (const kind of LEAST_URGENT_FIRST) {
        while (left > 0 && (counts.dead() > max || counts.deadBytes() > maxBytes)) {
          const [evicted] = await remove(kind, 1);
          if (!evicted) break;
          left -= evicted.size;
          onEvicted(evicted.event);
        }
      }
    } catch {
      // Appends and claims report what is wrong with the server.
    }
  };
}
