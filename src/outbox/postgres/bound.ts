import type { EventKind, OutboxEvent } from "../../events.js";
import { kindsBelow } from "../shedding.js";
import { inBatches } from "./batch.js";
import type { Counts } from "./counts.js";
import type { Database } from "./database.js";
import { EVENT_COLUMNS, type EventRow, eventOf } from "./rows.js";

/**
 * The bound, as far as this process can see: what others add is counted now and then, and not each time.
 *
 * @param options.schema a quoted identifier.
 * @param options.onShed hears of each event that gave way.
 * @returns a function that sheds what has to give way to one more event of a kind; `false` where that is not enough.
 */
export function createBound(
  database: Database,
  options: { schema: string; maxEvents: number; counts: Counts; onShed: (event: OutboxEvent) => void },
): (kind: EventKind) => boolean | Promise<boolean> {
  const { schema, maxEvents, counts, onShed } = options;
  const text = `select ${EVENT_COLUMNS} from ${schema}.shed($1, 1)`;

  async function shedFor(kind: EventKind): Promise<boolean> {
    for (const lower of kindsBelow(kind)) {
      while (counts.queued >= maxEvents && counts.of(lower) > 0) {
        const [row] = await counts.during(() => database.query<EventRow>(text, [lower]));
        // They are all under way, or another process was quicker.
        if (!row) break;
        counts.add(lower, -1);
        onShed(eventOf(row));
      }
    }
    return counts.queued < maxEvents;
  }

  const shedInTurn = inBatches<EventKind, boolean>(async ([kind]) => [await shedFor(kind as EventKind)], 1);

  return (kind) => counts.queued < maxEvents || shedInTurn(kind);
}
