import type { EventKind, OutboxEvent } from "../../events.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Counts } from "./counts.js";

/**
 * The bound of each destination's dead letters. The least important go first, and of these the oldest.
 *
 * @param options.remove removes the oldest dead letters of a kind, at most so many. Their ids stay known.
 * @param options.onEvicted hears of each that gave way.
 * @returns a function that evicts those that are too many; what comes meanwhile, with the next. Never rejects.
 */
export function createEviction(options: {
  max: number;
  counts: Counts;
  remove: (destination: string, kind: EventKind, limit: number) => Promise<readonly OutboxEvent[]>;
  onEvicted: (event: OutboxEvent) => void;
}): (destination: string) => Promise<void> {
  const { max, counts, remove, onEvicted } = options;
  let isEvicting = false;

  return async function evict(destination) {
    let tooMany = counts.dead(destination) - max;
    if (tooMany <= 0 || isEvicting) return;
    isEvicting = true;
    try {
      for (const kind of SHEDDING_ORDER) {
        const evicted = tooMany > 0 ? await remove(destination, kind, tooMany) : [];
        tooMany -= evicted.length;
        for (const event of evicted) onEvicted(event);
      }
    } catch {
      // Whatever is wrong with the server is told by claiming and storing.
    } finally {
      isEvicting = false;
    }
  };
}
