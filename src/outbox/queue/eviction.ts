import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import type { Counts } from "./counts.js";
import type { Evicted } from "./dead-letters.js";

/**
 * Bounds the dead letters: the least important go first, and of these the oldest.
 *
 * @param options.remove removes the oldest of a kind, at most so many. Their ids stay known.
 * @returns a function that evicts the excess after a dead letter of so many bytes was counted; those
 * that come meanwhile count the next time. Never rejects.
 */
export function createEviction(options: {
  max: number;
  maxBytes: number;
  counts: Counts;
  remove: (kind: EventKind, limit: number) => Promise<readonly Evicted[]>;
  onEvicted: (event: OutboxEvent) => void;
}): (bytes: number) => Promise<void> {
  const { max, maxBytes, counts, remove, onEvicted } = options;
  let isEvicting = false;
  // Removes no more than has come: an outbox beyond its bounds, as after a restore, keeps the rest.
  let letters = 0;
  let bytes = 0;

  const tooMany = () => counts.dead() - max;
  const tooLarge = () => counts.deadBytes() - maxBytes;

  async function evictOf(kind: EventKind): Promise<void> {
    for (;;) {
      const due = Math.min(letters, tooMany());
      if (due <= 0 && Math.min(bytes, tooLarge()) <= 0) return;
      const evicted = await remove(kind, Math.max(1, due));
      if (evicted.length === 0) return;
      letters -= evicted.length;
      for (const { event, size } of evicted) {
        bytes -= size;
        onEvicted(event);
      }
    }
  }

  return async function onDeath(size) {
    letters++;
    bytes += size;
    if (isEvicting) return;
    isEvicting = true;
    try {
      for (const kind of LEAST_URGENT_FIRST) await evictOf(kind);
      if (tooMany() > 0 || tooLarge() > 0) return;
      letters = 0;
      bytes = 0;
    } catch {
      // Appends and claims report what is wrong with the server.
    } finally {
      isEvicting = false;
    }
  };
}
