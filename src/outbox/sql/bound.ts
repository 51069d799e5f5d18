import type { OutboxEvent } from "../../conversion/events.js";
import { kindsBelow } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";

/**
 * Bounds each destination's events. Other processes' events are counted only now and then.
 *
 * @param options.shed removes the oldest unclaimed event of an urgency that this one will not wait
 * for.
 * @returns a function that makes room for one more event; `false` if it cannot.
 */
export function createBound(options: {
  maxEvents: number;
  counts: Counts;
  shed: (event: OutboxEvent, urgency: Urgency) => Promise<OutboxEvent | undefined>;
  onShed: (event: OutboxEvent) => void;
}): (event: OutboxEvent) => boolean | Promise<boolean> {
  const { maxEvents, counts, shed, onShed } = options;

  async function shedFor(coming: OutboxEvent): Promise<boolean> {
    const { destination, kind } = coming;
    for (const urgency of kindsBelow(kind)) {
      // An event is never less urgent than its kind.
      const kinds = [...kindsBelow(urgency), urgency];
      const mayHaveOne = () => kinds.some((each) => counts.of(destination, each) > 0);
      while (counts.queued(destination) >= maxEvents && mayHaveOne()) {
        const event = await counts.during(() => shed(coming, urgency));
        // All are claimed, or another process removed them first.
        if (!event) break;
        counts.add(destination, event.kind, -1);
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
