import type { OutboxEvent } from "../../events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import { objectFromJson } from "../../shared/json.js";
import type { Cache } from "./cache.js";
import type { Claimer } from "./claimed-events.js";
import type { KnownIds } from "./known-ids.js";
import type { LetterRow, Letters } from "./letters.js";
import type { LiveEvents } from "./live-events.js";
import type { Queues } from "./queues.js";
import { type EventRow, isEventId, type NewRow } from "./rows.js";
import type { Scheduled, ScheduledRow } from "./scheduled.js";
import { failureOf, type Value } from "./sqlite.js";

/** A row of a lost file, not checked yet, and the process that has claimed it. */
export interface LostRow extends Readonly<Record<string, Value | Claimer | undefined>> {
  readonly seq: number;
  readonly claimer?: Claimer | undefined;
}

export type LostTable = "scheduled" | "events" | "dead_letters" | "delivered";

/** Stores rows of a lost file as they were. */
export function createSaving(parts: {
  cache: Cache;
  ids: KnownIds;
  queues: Queues;
  letters: Letters;
  live: LiveEvents;
  scheduled: Scheduled;
}) {
  const { cache, ids, queues, letters, live, scheduled } = parts;

  function save(table: LostTable, row: LostRow, destination: number): boolean {
    const { known } = cache;
    const { id, kind = "payment" } = row as LostRow & Pick<EventRow, "id" | "kind">;
    const event = table === "delivered" ? undefined : eventIfSound(row);
    if (!isEventId(id) || !LEAST_URGENT_FIRST.includes(kind)) return false;
    if ((table !== "delivered" && !event) || !ids.learn(destination, id)) return false;
    if (!event && row.cancelled) ids.keepCancelled(destination, id);
    else if (!event) ids.keepDelivered(destination, kind, id);
    else if (table === "scheduled") scheduled.put({ ...(row as unknown as ScheduledRow), destination });
    else if (table === "dead_letters")
      letters.put({ ...(row as unknown as LetterRow), destination, seq: null });
    else {
      const { claimer, ...columns } = row as unknown as NewRow & Pick<LostRow, "claimer">;
      const place = {
        seq: known.nextSeq(),
        destination,
        endpoint: endpointOf(event),
        urgency: priorityOf(kind),
      };
      const saved: NewRow = { ...columns, ...place };
      live.put(saved);
      // It stays claimed: its owner may be sending it.
      if (claimer) {
        queues.enterAsHeads([saved]);
        known.claims.add(saved.seq, claimer);
      }
    }
    return true;
  }

  function saveIfSound(table: LostTable, row: LostRow, destination: number): boolean {
    try {
      return save(table, row, destination);
    } catch (error) {
      if (failureOf(error) !== "other") throw error;
      // A value that its column does not take.
      ids.forget(destination, String(row.id));
      return false;
    }
  }

  /** Returns how many were not known yet. */
  return (table: LostTable, rows: readonly LostRow[]): number =>
    rows.filter((row) => {
      const { destination } = row;
      return typeof destination === "number" && destination > 0 && saveIfSound(table, row, destination);
    }).length;
}

/** `undefined` where the row is no event: a damaged file may hold anything. */
function eventIfSound({ id, kind, data, created_at, size }: LostRow): OutboxEvent | undefined {
  if (typeof size !== "number") return undefined;
  const parsed = objectFromJson(String(data));
  return parsed && ({ id, kind, data: parsed, createdAt: created_at } as unknown as OutboxEvent);
}
