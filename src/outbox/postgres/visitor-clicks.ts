import { type OutboxEvent, visitorOf } from "../../events.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";
import type { Database } from "./database.js";
import type { Destinations } from "./destinations.js";
import { EVENT_COLUMNS, type EventRow, eventOf } from "./rows.js";

const AT_ONCE = 64;

/** A click that was stored, and whether its transaction has ended. */
export interface NewClick {
  readonly event: OutboxEvent;
  readonly isCommitted: boolean;
}

/**
 * The bound of each visitor's clicks. Storing a click says for nothing whether there are too many; a request more is made
 * only then.
 *
 * @param options.schema a quoted identifier.
 * @param options.onShed hears of each click that gave way.
 * @returns a function that takes a new click, and sheds its visitor's oldest while there are too many.
 */
export function createVisitorClicks(
  database: Database,
  options: {
    schema: string;
    destinations: Destinations;
    counts: Counts;
    onShed: (event: OutboxEvent) => void;
  },
): (click: NewClick) => Promise<void> {
  const { schema, destinations, counts, onShed } = options;
  const text = `select ${EVENT_COLUMNS} from ${schema}.shed_clicks($1, $2, $3, $4)`;

  async function shedFor({ event, isCommitted }: NewClick): Promise<void> {
    const { destination, data } = event;
    // One that is not committed yet is not among those that the server sees.
    const most = CLICKS_OF_A_VISITOR - Number(!isCommitted);
    const rows = await counts.during(() =>
      database.query<EventRow>(text, [
        destinations.numberOf(destination),
        data.clickId ?? null,
        data.sessionId ?? null,
        most,
      ]),
    );
    counts.add(destination, "click", -rows.length);
    for (const row of rows) onShed(eventOf(row, destination));
  }

  return inBatches<NewClick, void>(
    async (clicks) => {
      // The last of each visitor: the others are among those that it looks at.
      const byVisitor = new Map(
        clicks.map((click) => [`${click.event.destination} ${visitorOf(click.event)}`, click]),
      );
      // One after the other: a flood of clicks takes one connection, however many come.
      for (const click of byVisitor.values()) await shedFor(click);
      return [];
    },
    { max: AT_ONCE },
  );
}
