import { type FoundEvent, type PersonalStorage, personalEventOf } from "../personal-data.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Letters } from "./letters.js";
import type { LiveEvents } from "./live-events.js";
import type { PagePosition, Request, Results } from "./protocol.js";
import { type EventRow, eventFromRow } from "./rows.js";
import type { Scheduled } from "./scheduled.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  scheduled: `
    select seq, destination, id, 'payment' as kind, data, created_at from scheduled where seq > ? order by seq limit ?`,
  events:
    "select seq, destination, id, kind, data, created_at from events where seq > ? order by seq limit ?",
  dead_letters: `
    select seq, destination, id, kind, data, created_at from dead_letters where seq > ? order by seq limit ?`,
} as const;

const TABLES = ["scheduled", "events", "dead_letters"] as const;
// So few that no other request waits for it.
const AT_ONCE = 500;

/** The search for a person's events, through the thread or on the file itself. */
export function personalThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["type"]]>,
): PersonalStorage {
  return {
    async *pages(destination) {
      let from: PagePosition | undefined = { table: TABLES[0], after: 0 };
      while (from) {
        const page: Results["page"] = await ask({ type: "page", destination, from });
        yield page.found;
        from = page.next;
      }
    },
    remove: (destination, found) =>
      ask({ type: "erase", destination, found: found.map(({ id, place }) => ({ id, seq: Number(place) })) }),
  };
}

/** The same on the file's side. */
export function createPersonal(
  db: Database,
  parts: { cache: Cache; ids: KnownIds; letters: Letters; live: LiveEvents; scheduled: Scheduled },
) {
  const { cache, ids, letters, live, scheduled } = parts;
  const statements = prepareAll(db, STATEMENTS);

  function isThere({ seq }: EventRow, table: PagePosition["table"]): boolean {
    return table !== "events" || !cache.known.delivered.has(seq);
  }

  function stateOf({ seq }: EventRow, table: PagePosition["table"]) {
    if (table === "dead_letters") return "dead";
    return table === "events" && cache.known.claims.ownerOf(seq) !== undefined ? "under-way" : "waiting";
  }

  function eraseOne(destination: number, id: string, seq: number, now: number): boolean {
    if (scheduled.take(destination, id)) return true;
    if (letters.discard({ id, destination })) return true;
    if (cache.known.delivered.has(seq)) return false;
    const row = live.removeOwn({ seq, id, owner: undefined }, now);
    if (row) ids.keepDelivered(row.destination, row.kind, id);
    return row !== undefined;
  }

  return {
    page({ destination, from: { table, after } }: Request & { readonly type: "page" }): Results["page"] {
      const rows: EventRow[] = statements[table].all(after, AT_ONCE);
      const found = rows.flatMap((row): FoundEvent[] => {
        const event = isThere(row, table) && eventFromRow(row, row.destination);
        if (!event || (destination ?? row.destination) !== row.destination) return [];
        return [{ ...personalEventOf(event, stateOf(row, table)), place: row.seq }];
      });
      if (rows.length === AT_ONCE) return { found, next: { table, after: rows.at(-1)?.seq ?? after } };
      const following = TABLES[TABLES.indexOf(table) + 1];
      return { found, next: following && { table: following, after: 0 } };
    },
    erase({ destination, found }: Request & { readonly type: "erase" }, now: number): number {
      return found.filter(({ id, seq }) => eraseOne(destination, id, seq, now)).length;
    },
  };
}
