import { type FoundEvent, type PersonalEvent, personalEventOf } from "../../personal-data.js";
import type { PagePosition, RequestOf, Results } from "./requests.js";
import { type EventRow, eventFromRow } from "./rows.js";
import type { Tables } from "./tables.js";

const pageOf = (table: string, kind: string) => `
  select seq, destination, id, ${kind} as kind, data, created_at from ${table} where seq > ? order by seq limit ?`;

const STATEMENTS = {
  scheduled: pageOf("scheduled", "'payment'"),
  events: pageOf("events", "kind"),
  dead_letters: pageOf("dead_letters", "kind"),
} as const;

const TABLES = ["scheduled", "events", "dead_letters"] as const;
// So few that no other request waits for it.
const AT_ONCE = 500;

/** Finds and erases a person's events. */
export function createPersonal({ cache, ids, letters, live, scheduled }: Tables) {
  const statements = cache.prepare(STATEMENTS);

  /** `undefined` if it is delivered, and its row is still to be deleted. */
  function stateOf({ seq }: EventRow, table: PagePosition["table"]): PersonalEvent["state"] | undefined {
    if (table === "dead_letters") return "dead";
    if (table === "scheduled") return "waiting";
    const { claims, delivered } = cache.known;
    if (delivered.seqs.has(seq)) return undefined;
    return claims.ownerOf(seq) === undefined ? "waiting" : "under-way";
  }

  function eraseOne(destination: number, id: string, seq: number, now: number): boolean {
    if (scheduled.take(destination, id)) return true;
    if (letters.discard({ id, destination })) return true;
    if (cache.known.delivered.seqs.has(seq)) return false;
    const row = live.removeOwn({ seq, id, owner: undefined }, now);
    if (row) ids.keepDelivered(row.destination, row.kind, id);
    return row !== undefined;
  }

  return {
    page({ destination, from: { table, after } }: RequestOf<"page">): Results["page"] {
      const rows: EventRow[] = statements[table].all(after, AT_ONCE);
      const found = rows.flatMap((row): FoundEvent[] => {
        const state = stateOf(row, table);
        const event = eventFromRow(row);
        if (!state || !event || (destination ?? row.destination) !== row.destination) return [];
        return [{ ...personalEventOf(event, state), place: row.seq }];
      });
      if (rows.length === AT_ONCE) return { found, next: { table, after: rows.at(-1)?.seq ?? after } };
      const following = TABLES[TABLES.indexOf(table) + 1];
      return { found, next: following && { table: following, after: 0 } };
    },
    erase({ destination, found }: RequestOf<"erase">, now: number): number {
      return found.filter(({ id, seq }) => eraseOne(destination, id, seq, now)).length;
    },
  };
}
