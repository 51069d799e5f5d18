import type { OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { objectFromJson } from "../../shared/json.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Cache } from "./cache.js";
import type { Claimer } from "./claimed-events.js";
import type { KnownIds } from "./known-ids.js";
import { type EventRow, rankOf } from "./rows.js";
import { type Database, failureOf, prepareAll, type Value } from "./sqlite.js";

const EVENT = [
  ...["id", "kind", "click_id", "session_id", "data", "created_at", "queued_at", "size", "history"],
  "interrupted",
] as const;

const LETTER = [
  ...["id", "kind", "data", "created_at", "size", "attempts", "history"],
  ...["reason", "status", "code", "message", "died_at", "amount"],
] as const;

const marks = (columns: readonly string[]) => columns.map(() => "?").join(", ");

export const STATEMENTS = {
  event: `
    insert into events (seq, destination, endpoint, urgency, ${EVENT.join(", ")})
    values (?, ?, ?, ?, ${marks(EVENT)})`,
  letter: `insert into dead_letters (destination, ${LETTER.join(", ")}) values (?, ${marks(LETTER)})`,
} as const;

/** A row of a lost file, not checked yet, and the process that has claimed it. */
export interface LostRow extends Readonly<Record<string, Value | Claimer | undefined>> {
  readonly seq: number;
  readonly claimer?: Claimer | undefined;
}

export type LostTable = "events" | "dead_letters" | "delivered";

/** Stores rows of a lost file as they were. */
export function createSaving(db: Database, cache: Cache, ids: KnownIds) {
  const { event: keepEvent, letter: keepLetter } = prepareAll(db, STATEMENTS);

  function save(table: LostTable, row: LostRow, destination: number): boolean {
    const { known } = cache;
    const { id, kind, size } = row as LostRow & Pick<EventRow, "id" | "kind" | "size">;
    const event = table === "delivered" ? undefined : eventIfSound(row);
    if (!isEventId(id) || !SHEDDING_ORDER.includes(kind)) return false;
    if ((table !== "delivered" && !event) || !ids.learn(destination, id)) return false;
    const values = (columns: readonly string[]) => columns.map((each) => (row[each] ?? null) as Value);
    if (!event) ids.keepDelivered(destination, kind, id);
    else if (table === "dead_letters") {
      keepLetter.run(destination, ...values(LETTER));
      known.totals.add(destination, `${kind} ${row.reason as "rejected"}`, 1, size);
    } else {
      const seq = known.nextSeq();
      keepEvent.run(seq, destination, endpointOf(event), rankOf(kind), ...values(EVENT));
      // It stays claimed: its owner may be sending it.
      if (row.claimer) known.claims.add(seq, row.claimer);
      known.totals.add(destination, kind, 1, size);
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
  return (table: LostTable, rows: readonly LostRow[], names: ReadonlyMap<number, string>): number =>
    rows.filter((row) => {
      const name = names.get(row.destination as number);
      return name !== undefined && saveIfSound(table, row, cache.numberOf(name));
    }).length;
}

const isEventId = (id: unknown) => typeof id === "string" && /^[0-9a-f]{32}$/.test(id);

/** `undefined` where the row is no event: a damaged file may hold anything. */
function eventIfSound({ id, kind, data, created_at, size }: LostRow): OutboxEvent | undefined {
  if (typeof size !== "number") return undefined;
  const parsed = objectFromJson(String(data));
  return parsed && ({ id, kind, data: parsed, createdAt: created_at } as unknown as OutboxEvent);
}
