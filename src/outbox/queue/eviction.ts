import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../conversion/kinds.js";
import type { Death } from "../dead-letters.js";
import type { Counts } from "./counts.js";
import type { Evicted } from "./dead-letters.js";
import { asciiJson } from "./rows.js";

export type OnDeath = (event: OutboxEvent, death: Death) => unknown;

/** As `size` of its row says. */
function deathSizeOf({ data }: OutboxEvent, death: Death): number {
  return asciiJson(data).length + asciiJson(death).length;
}

/**
 * Bounds each destination's dead letters: the least important go first, and of these the oldest.
 *
 * @param options.remove removes the oldest of a kind, at most so many. Their ids stay known.
 * @returns a function that counts a new dead letter, and evicts the excess; those that come
 * meanwhile count the next time. Never rejects.
 */
export function createEviction(options: {
  max: number;
  maxBytes: number;
  counts: Counts;
  remove: (destination: number, kind: EventKind, limit: number) => Promise<readonly Evicted[]>;
  onEvicted: (event: OutboxEvent) => void;
}): OnDeath {
  const { max, maxBytes, counts, remove, onEvicted } = options;
  let isEvicting = false;
  // Removes no more than has come: an outbox beyond its bounds, as after a restore, keeps the rest.
  let letters = 0;
  let bytes = 0;

  const tooMany = (destination: number) => counts.dead(destination) - max;
  const tooLarge = (destination: number) => counts.deadBytes(destination) - maxBytes;

  async function evictOf(kind: EventKind, destination: number): Promise<void> {
    for (;;) {
      const due = Math.min(letters, tooMany(destination));
      if (due <= 0 && Math.min(bytes, tooLarge(destination)) <= 0) return;
      const evicted = await remove(destination, kind, Math.max(1, due));
      if (evicted.length === 0) return;
      letters -= evicted.length;
      for (const { event, size } of evicted) {
        bytes -= size;
        onEvicted(event);
      }
    }
  }

  return async function onDeath(event, death) {
    const { destination } = event;
    const size = deathSizeOf(event, death);
    counts.addDead(destination, { kind: event.kind, reason: death.reason }, 1, size);
    letters++;
    bytes += size;
    if (isEvicting) return;
    isEvicting = true;
    try {
      for (const kind of LEAST_URGENT_FIRST) await evictOf(kind, destination);
      if (tooMany(destination) > 0 || tooLarge(destination) > 0) return;
      letters = 0;
      bytes = 0;
    } catch {
      // Appends and claims report what is wrong with the server.
    } finally {
      isEvicting = false;
    }
  };
}
