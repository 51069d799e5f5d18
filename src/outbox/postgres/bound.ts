import type { OutboxEvent } from "../../events.js";
import { kindsBelow } from "../shedding.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";
import type { Database } from "./database.js";
import type { Destinations } from "./destinations.js";
import { EVENT_COLUMNS, type EventRow, eventOf } from "./rows.js";

/**
 * The bound of each destination's events, as far as this process can see: what others add is counted now and then, and not
 * each time.
 *
 * @param options.schema a quoted identifier.
 * @param options.onShed hears of each event that gave way.
 * @returns a function that sheds what has to give way to one more event; `false` where that is not enough.
 */
export function createBound(
  database: Database,
  options: {
    schema: string;
    destinations: Destinations;
    maxEvents: number;
    counts: Counts;
    onShed: (event: OutboxEvent) => void;
  },
): (event: OutboxEvent) => boolean | Promise<boolean> {
  const { schema, destinations, maxEvents, counts, onShed } = options;
  const text = `select ${EVENT_COLUMNS} from ${schema}.shed($1, $2, 1)`;

  async function shedFor({ destination, kind }: OutboxEvent): Promise<boolean> {
    const number = destinations.numberOf(destination);
    for (const lower of kindsBelow(kind)) {
      while (counts.queued(destination) >= maxEvents && counts.of(destination, lower) > 0) {
        const [row] = await counts.during(() => database.query<EventRow>(text, [number, lower]));
        // They are all under way, or another process was quicker.
        if (!row) break;
        counts.add(destination, lower, -1);
        onShed(eventOf(row, destination));
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
