import { type OutboxEvent, visitorOf } from "../../conversion/events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { inBatches } from "./batch.js";
import { type Counts, changeOf } from "./counts.js";

const AT_ONCE = 64;

/**
 * Bounds each visitor's clicks. One more request is made only if storing a click has shown that
 * there are too many.
 *
 * @param options.shed removes a visitor's oldest unclaimed clicks, until at most so many are left.
 * @returns a function that takes a new click, and sheds its visitor's oldest if there are too many.
 */
export function createVisitorClicks(options: {
  counts: Counts;
  shed: (event: OutboxEvent, most: number) => Promise<readonly OutboxEvent[]>;
  onShed: (event: OutboxEvent) => void;
}): (click: OutboxEvent) => Promise<void> {
  const { counts, shed, onShed } = options;

  async function shedFor(event: OutboxEvent): Promise<void> {
    const clicks = await counts.during(
      () => shed(event, CLICKS_OF_A_VISITOR),
      (some) => some.map((click) => changeOf(click, "queued", -1)),
    );
    for (const click of clicks) onShed(click);
  }

  return inBatches<OutboxEvent, void>(
    async (clicks) => {
      // One click of each visitor is enough: the request is for all of them.
      const byVisitor = new Map(clicks.map((click) => [visitorOf(click), click]));
      // One at a time: a flood of clicks takes only one connection.
      for (const click of byVisitor.values()) await shedFor(click);
      return [];
    },
    { max: AT_ONCE },
  );
}
