import { type OutboxEvent, visitorOf } from "../../events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";

const AT_ONCE = 64;

/** A click that was stored, and whether its transaction has ended. */
export interface NewClick {
  readonly event: OutboxEvent;
  readonly isCommitted: boolean;
}

/**
 * The bound of each visitor's clicks. Storing a click also tells whether there are too many; only then one more request is made.
 *
 * @param options.shed removes the oldest clicks of an event's visitor that no process has, until at most so many are left.
 * @param options.onShed is called for each click that was shed.
 * @returns a function that takes a new click, and sheds its visitor's oldest while there are too many.
 */
export function createVisitorClicks(options: {
  counts: Counts;
  shed: (event: OutboxEvent, most: number) => Promise<readonly OutboxEvent[]>;
  onShed: (event: OutboxEvent) => void;
}): (click: NewClick) => Promise<void> {
  const { counts, shed, onShed } = options;

  async function shedFor({ event, isCommitted }: NewClick): Promise<void> {
    // The server does not see a click that is not committed yet.
    const most = CLICKS_OF_A_VISITOR - Number(!isCommitted);
    const clicks = await counts.during(() => shed(event, most));
    counts.add(event.destination, "click", -clicks.length);
    for (const click of clicks) onShed(click);
  }

  return inBatches<NewClick, void>(
    async (clicks) => {
      // One click of each visitor is enough: the request looks at all clicks of the visitor.
      const byVisitor = new Map(
        clicks.map((click) => [`${click.event.destination} ${visitorOf(click.event)}`, click]),
      );
      // One after the other: a flood of clicks takes no more than one connection.
      for (const click of byVisitor.values()) await shedFor(click);
      return [];
    },
    { max: AT_ONCE },
  );
}
