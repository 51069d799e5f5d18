import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { KINDS } from "../../conversion/kinds.js";
import { kindsBelow } from "../shedding.js";
import { inBatches } from "./batch.js";
import { type Counts, changeOf } from "./counts.js";

const AT_ONCE = 64;

/** Ends what `makeSpace` has reserved; `undefined`: there is no space. */
type Reserved = (() => void) | undefined;

/**
 * Bounds the events that wait. Other processes' events are counted only now and then.
 *
 * @param options.shed removes the oldest unclaimed events of an urgency that these will not wait for,
 * at most so many.
 * @returns a function that makes room for one more event, which counts as queued until the returned
 * function is called.
 */
export function createBound(options: {
  maxEvents: number;
  counts: Counts;
  shed: (events: readonly OutboxEvent[], urgency: EventKind, most: number) => Promise<readonly OutboxEvent[]>;
  onShed: (event: OutboxEvent) => void;
}): (event: OutboxEvent) => Reserved | Promise<Reserved> {
  const { maxEvents, counts, shed, onShed } = options;
  /** About to be stored. */
  let coming = 0;

  const space = () => maxEvents - counts.queued() - coming;

  function reserve(): Reserved {
    if (space() <= 0) return undefined;
    coming++;
    return () => {
      coming--;
    };
  }

  /** For events of one kind. */
  async function shedFor(events: readonly OutboxEvent[], kind: EventKind): Promise<void> {
    const missing = () => events.length - space();
    for (const urgency of kindsBelow(kind)) {
      // An event is never less urgent than its kind.
      const mayHaveOne = () => [...kindsBelow(urgency), urgency].some((each) => counts.queued(each) > 0);
      while (missing() > 0 && mayHaveOne()) {
        const gone = await counts.during(() => shed(events, urgency, missing()));
        // All are claimed, or another process removed them first.
        if (gone.length === 0) break;
        for (const event of gone) {
          // Whatever was counted meanwhile: otherwise more would be shed than is needed.
          counts.add(changeOf(event, "queued", -1));
          onShed(event);
        }
      }
    }
  }

  const shedTogether = inBatches<OutboxEvent, Reserved>(
    async (events) => {
      const reserved = new Map<OutboxEvent, Reserved>();
      for (const kind of KINDS) {
        const some = events.filter((event) => event.kind === kind);
        if (some.length > 0) await shedFor(some, kind);
        for (const event of some) reserved.set(event, reserve());
      }
      return events.map((event) => reserved.get(event));
    },
    { max: AT_ONCE },
  );

  return (event) => reserve() ?? shedTogether(event);
}
