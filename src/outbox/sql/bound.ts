import type { EventKind, OutboxEvent } from "../../events.js";
import { kindsBelow } from "../shedding.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";

/**
 * The bound of each destination's events, as far as this process can see: what others add is counted now and then, and not
 * each time.
 *
 * @param options.shed removes the oldest event of a kind that no process has; `undefined` where there is none.
 * @param options.onShed hears of each event that gave way.
 * @returns a function that sheds what has to give way to one more event; `false` where that is not enough.
 */
export function createBound(options: {
  maxEvents: number;
  counts: Counts;
  shed: (destination: string, kind: EventKind) => Promise<OutboxEvent | undefined>;
  onShed: (event: OutboxEvent) => void;
}): (event: OutboxEvent) => boolean | Promise<boolean> {
  const { maxEvents, counts, shed, onShed } = options;

  async function shedFor({ destination, kind }: OutboxEvent): Promise<boolean> {
    for (const lower of kindsBelow(kind)) {
      while (counts.queued(destination) >= maxEvents && counts.of(destination, lower) > 0) {
        const event = await counts.during(() => shed(destination, lower));
        // They are all under way, or another process was quicker.
        if (!event) break;
        counts.add(destination, lower, -1);
        onShed(event);
      }
    }
    return counts.queued(destination) < maxEvents;
  }

  const shedInTurn = inBatches<OutboxEvent, boolean>(
    async ([event]) => [await shedFor(event as OutboxEvent)],
    { max: 1 },
  );

  return (event) => counts.queued(event.destination) < maxEvents || shedInTurn(event);
}
