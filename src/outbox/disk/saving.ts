import type { EventKind, OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { objectFromJson } from "../../shared/json.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { ClaimOwners } from "./claim-owners.js";
import type { Delivered } from "./delivered.js";
import type { Destinations } from "./destinations.js";
import type { KnownIds } from "./known-ids.js";
import { rankOf } from "./rows.js";
import { CLAIMED } from "./schema.js";
import { type Database, failureOf, prepareAll, type Value } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";

const EVENT = [
  ...["id", "kind", "click_id", "session_id", "data", "created_at", "queued_at", "size", "history"],
  ...["tried", "interrupted"],
] as const;

const LETTER = [
  ...["id", "kind", "data", "created_at", "size", "attempts", "history"],
  ...["reason", "status", "code", "message", "died_at", "amount"],
] as const;

const marks = (columns: readonly string[]) => columns.map(() => "?").join(", ");

export const STATEMENTS = {
  event: `
    insert into events (seq, destination, endpoint, urgency, ready_at, ${EVENT.join(", ")})
    values (?, ?, ?, ?, ?, ${marks(EVENT)})`,
  letter: `insert into dead_letters (destination, ${LETTER.join(", ")}) values (?, ${marks(LETTER)})`,
} as const;

/** A row of a lost file, not checked yet. A claimed event's row also has the owner and its heartbeat. */
export type LostRow = Readonly<Record<string, Value>> & { readonly seq: number };

export type LostTable = "events" | "dead_letters" | `delivered_${EventKind}`;

/** Stores rows of a lost file as they were. */
export function createSaving(
  db: Database,
  parts: {
    state: State;
    destinations: Destinations;
    totals: Totals;
    ids: KnownIds;
    owners: ClaimOwners;
    delivered: Delivered;
  },
) {
  const { state, destinations, totals, ids, owners, delivered } = parts;
  const { event: keepEvent, letter: keepLetter } = prepareAll(db, STATEMENTS);

  function save(table: LostTable, row: LostRow, destination: number): boolean {
    const id = String(row.id);
    if (table === "events" || table === "dead_letters") {
      const event = eventIfSound(row);
      if (!event || !ids.learn(destination, id)) return false;
      if (table === "events") {
        const values = EVENT.map((each) => row[each] ?? null);
        const seq = state.nextSeq();
        // It stays claimed: its owner may be sending it.
        const { owner, heartbeat } = row;
        const readyAt = owner === undefined ? null : CLAIMED;
        keepEvent.run(seq, destination, endpointOf(event), rankOf(event.kind), readyAt, ...values);
        if (owner !== undefined)
          owners.addQueued(seq, { owner: String(owner), heartbeat: Number(heartbeat) });
        totals.add(destination, event.kind, 1, Number(row.size));
      } else {
        keepLetter.run(destination, ...LETTER.map((each) => row[each] ?? null));
        totals.add(destination, `${event.kind} ${row.reason as "rejected"}`, 1, Number(row.size));
      }
      return true;
    }
    if (!isEventId(id) || !ids.learn(destination, id)) return false;
    delivered.add(destination, table.slice("delivered_".length) as EventKind, id);
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
      return name !== undefined && saveIfSound(table, row, destinations.numberOf(name));
    }).length;
}

const isEventId = (id: string) => /^[0-9a-f]{32}$/.test(id);

/** `undefined` where the row is no event: a damaged file may hold anything. */
function eventIfSound({ id, kind, data, created_at, size }: LostRow): OutboxEvent | undefined {
  if (!isEventId(String(id)) || !SHEDDING_ORDER.includes(kind as EventKind) || typeof size !== "number")
    return undefined;
  const parsed = objectFromJson(String(data));
  return parsed && ({ id, kind, data: parsed, createdAt: created_at } as unknown as OutboxEvent);
}
