import type { OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { type EventRow, eventOf } from "../sql/event-rows.js";
import type { Urgency } from "../urgency.js";
import type { Database } from "./database.js";
import { EVENT_COLUMNS } from "./rows.js";

/** Removes events that no process has claimed, and forgets their ids. */
export function createShedding(database: Database) {
  const { schema } = database;
  const ofUrgency = `select ${EVENT_COLUMNS} from ${schema}.shed($1, $2, $3, $4, $5)`;
  const ofVisitor = `select ${EVENT_COLUMNS} from ${schema}.shed_clicks($1, $2, $3, $4)`;

  return {
    /** Removes the oldest event of this urgency that the new event does not wait for. */
    async oldest(event: OutboxEvent, urgency: Urgency): Promise<OutboxEvent | undefined> {
      const { destination, kind, data } = event;
      const [row] = await database.query<EventRow>(ofUrgency, [
        destination,
        priorityOf(urgency),
        priorityOf(kind),
        data.clickId ?? null,
        data.sessionId ?? null,
      ]);
      return row && eventOf(row, destination);
    },
    /** Removes the oldest clicks of an event's visitor, until at most so many are left. */
    async clicks({ destination, data }: OutboxEvent, most: number): Promise<OutboxEvent[]> {
      const { clickId = null, sessionId = null } = data;
      const rows = await database.query<EventRow>(ofVisitor, [destination, clickId, sessionId, most]);
      return rows.map((row) => eventOf(row, destination));
    },
  };
}
