import type { OutboxEvent } from "../../conversion/events.js";
import { kindsBelow } from "../shedding.js";
import type { Urgency } from "../urgency.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";

const AT_ONCE = 64;

/** Ends what `makeSpace` has reserved; `undefined`: there is no space. */
type Reserved = (() => void) | undefined;

/**
 * Bounds each destination's events. Other processes' events are counted only now and then.
 *
 * @param options.shed removes the oldest unclaimed events of an urgency that these will not wait for,
 * at most so many.
 * @returns a function that makes room for one more event, which counts as queued until the returned
 * function is called.
 */
export function createBound(options: {
  maxEvents: number;
  counts: Counts;
  shed: (events: readonly OutboxEvent[], urgency: Urgency, most: number) => Promise<readonly OutboxEvent[]>;
  onShed: (event: OutboxEvent) => void;
}): (event: OutboxEvent) => Reserved | Promise<Reserved> {
  const { maxEvents, counts, shed, onShed } = options;

  /** For events of one destination and kind. */
  async function shedFor(coming: readonly OutboxEvent[]): Promise<Reserved[]> {
    const { destination, kind } = coming[0] as OutboxEvent;
    const missing = () => counts.queued(destination) + coming.length - maxEvents;
    for (const urgency of kindsBelow(kind)) {
      // An event is never less urgent than its kind.
      const kinds = [...kindsBelow(urgency), urgency];
      const mayHaveOne = () => kinds.some((each) => counts.of(destination, each) > 0);
      while (missing() > 0 && mayHaveOne()) {
        const events = await counts.during(() => shed(coming, urgency, missing()));
        // All are claimed, or another process removed them first.
        if (events.length === 0) break;
        for (const event of events) {
          counts.add(destination, event.kind, -1);
          onShed(event);
        }
      }
    }
    return coming.map(() =>
      counts.queued(destination) < maxEvents ? counts.expect(destination) : undefined,
    );
  }

  const shedTogether = inBatches<OutboxEvent, Reserved>(
    async (events) => {
      const groups = new Map<string, OutboxEvent[]>();
      for (const event of events) {
        const name = `${event.destination} ${event.kind}`;
        groups.set(name, [...(groups.get(name) ?? []), event]);
      }
      const reserved = new Map<OutboxEvent, Reserved>();
      for (const group of groups.values()) {
        for (const [nth, each] of (await shedFor(group)).entries())
          reserved.set(group[nth] as OutboxEvent, each);
      }
      return events.map((event) => reserved.get(event));
    },
    { max: AT_ONCE },
  );

  return (event) =>
    counts.queued(event.destination) < maxEvents ? counts.expect(event.destination) : shedTogether(event);
}
