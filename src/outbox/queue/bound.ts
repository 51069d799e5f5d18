import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { KINDS } from "../../conversion/kinds.js";
import { kindsBelow } from "../shedding.js";
import { type Counts, changeOf } from "./counts.js";

// A statement has a limited number of values.
const MOST_AT_ONCE = 1_000;

/**
 * Bounds the events that wait. Other processes' events are counted only now and then.
 *
 * @param options.shed removes the oldest unclaimed events of an urgency that these will not wait for,
 * at most so many.
 * @returns a function that makes room for events. Resolves to those that may be stored, and to those
 * that are known: they need no room.
 */
export function createBound(options: {
  maxEvents: number;
  counts: Counts;
  knownOf: (events: readonly OutboxEvent[]) => Promise<ReadonlySet<OutboxEvent>>;
  shed: (events: readonly OutboxEvent[], urgency: EventKind, most: number) => Promise<readonly OutboxEvent[]>;
  onShed: (event: OutboxEvent) => void;
}): (events: readonly OutboxEvent[]) => Promise<Record<"fitting" | "known", ReadonlySet<OutboxEvent>>> {
  const { maxEvents, counts, knownOf, shed, onShed } = options;
  const space = () => maxEvents - counts.queued();

  /** Whether there is no space for so many. Counts anew before it sheds or refuses too much. */
  async function lacksSpaceFor(number: number): Promise<boolean> {
    if (number > space() && counts.mayBeTooHigh()) await counts.take();
    return number > space();
  }

  /** Sheds for events of one kind until there is space for so many, if it can. */
  async function shedFor(events: readonly OutboxEvent[], kind: EventKind, number: number): Promise<void> {
    for (const urgency of kindsBelow(kind)) {
      // An event is never less urgent than its kind.
      const mayHaveOne = () => [...kindsBelow(urgency), urgency].some((lesser) => counts.queued(lesser) > 0);
      while ((await lacksSpaceFor(number)) && mayHaveOne()) {
        const gone = await shed(events, urgency, Math.min(number - space(), MOST_AT_ONCE));
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

  return async function makeSpace(events) {
    if (!(await lacksSpaceFor(events.length))) return { fitting: new Set(events), known: new Set() };
    const known = await knownOf(events);
    const fitting = new Set<OutboxEvent>();
    for (const kind of KINDS) {
      const some = events.filter((event) => event.kind === kind && !known.has(event));
      if (some.length > 0) await shedFor(some, kind, fitting.size + some.length);
      for (const event of some) if (fitting.size < space()) fitting.add(event);
    }
    return { fitting, known };
  };
}
