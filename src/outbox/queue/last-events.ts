import type { EventKind } from "../../conversion/events.js";
import { kindOfPriority } from "../../conversion/kinds.js";
import type { Database } from "./database.js";
import { CLAIMED } from "./ranks.js";
import { DEAD, type EventRow, QUEUED, SCHEDULED } from "./rows.js";

/** What became of an event, for an operator. Times are milliseconds since the epoch. */
export interface LastEvent {
  /** 32 hex digits. */
  readonly id: string;
  readonly kind: EventKind;
  /** `known`: delivered, cancelled, erased or discarded; only the id is kept. */
  readonly state: "waiting" | "behind" | "under-way" | "dead" | "known";
  /** When it was reported; of a dead letter, when it died. */
  readonly at: number;
  /** It is not tried before this time. */
  readonly until: number | null;
  readonly reason: string | null;
}

type Row = EventRow & Readonly<Record<"head" | "turn" | "due_at", number | null>>;

/** The events reported last, scheduled ones too, newest first. */
export async function lastEventsIn(database: Database, limit: number): Promise<LastEvent[]> {
  const { events, queues, now } = database.words;
  const rows = await database.rows<Row>(
    `select q.head, case when q.due_at > ${now} then q.turn end as turn, q.due_at, e.*
     from ${events} e left join ${queues} q on q.visitor = e.visitor order by e.seq desc limit ${limit}`,
  );
  return rows.map((row) => {
    const state = stateOf(row);
    const until = row.state === SCHEDULED ? row.at_ms : state === "waiting" ? row.due_at : null;
    const at = state === "dead" ? row.at_ms : row.created_at;
    return { id: row.id, kind: kindOfPriority(row.kind), state, at, until, reason: row.reason };
  });
}

function stateOf({ state, seq, head, turn }: Row): LastEvent["state"] {
  if (state === DEAD) return "dead";
  if (state > DEAD) return "known";
  if (state !== QUEUED) return "waiting";
  if (head !== seq) return "behind";
  return turn === CLAIMED ? "under-way" : "waiting";
}
