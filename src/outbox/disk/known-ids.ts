import type { EventKind } from "../../events.js";
import { LEAST_URGENT_FIRST, rowOf } from "../../kinds.js";
import type { Cache } from "./cache.js";
import { type Database, prepareAll } from "./sqlite.js";
import { ALL } from "./totals.js";

const TABLES = ["ids_new", "ids_young", "ids_old"] as const;
const IS_KNOWN = (table: string) => `exists (select 1 from ${table} where destination = ?1 and id = ?2)`;

export const STATEMENTS = {
  learn: `insert or ignore into ids_new select ?1, ?2 where not ${IS_KNOWN("ids_young")} and not ${IS_KNOWN("ids_old")}`,
  isKnown: `select ${TABLES.map(IS_KNOWN).join(" or ")} as known`,
  remember: "insert into delivered (destination, kind, id, at, cancelled) values (?, ?, ?, ?, ?)",
  isCancelled: "select 1 from delivered where id = ? and destination = ? and cancelled = 1",
  rememberAll: `
    insert into delivered (destination, kind, id, at)
    select destination, kind, id, ? from events where seq in (select value from json_each(?))`,
  // The oldest are the first: one row tells whether there is anything to forget.
  forgetSome: `
    delete from delivered
    where seq in (select seq from delivered where kind = ?1 order by seq limit ?2) and (at < ?3 or ?4)
    returning destination, id`,
} as const;

const tableStatements = (table: (typeof TABLES)[number]) => ({
  forget: `delete from ${table} where destination = ? and id = ?`,
});

/** For a look at their plans. */
export const TABLE_STATEMENTS = Object.fromEntries(
  TABLES.flatMap((table) =>
    Object.entries(tableStatements(table)).map(([name, sql]) => [`${name} ${table}`, sql]),
  ),
);

const MOST_NEW = 4_096;
const MOST_YOUNG = 16 * MOST_NEW;
const BYTES_EACH = 120;
// So few that no other request waits for it.
const AT_ONCE = 1_000;

export type KnownIds = ReturnType<typeof createKnownIds>;

/**
 * The ids of all events that wait, are dead, or were delivered recently. Ids are random: in a large table each new one would
 * change a page of its own, which would be the largest cost of storing an event. So a new id goes into a table of a few pages;
 * from there thousands move on together, in order. Those of delivered events are forgotten when they are too old, or too many.
 *
 * @param options.maxBytes for delivered ids.
 */
export function createKnownIds(
  db: Database,
  cache: Cache,
  { maxBytes, rememberMs }: { maxBytes: number; rememberMs: number },
) {
  const { learn, isKnown, isCancelled, remember, rememberAll, forgetSome } = prepareAll(db, STATEMENTS);
  const tables = TABLES.map((table) => prepareAll(db, tableStatements(table)));

  function moveOn(from: "ids_new" | "ids_young", to: "ids_young" | "ids_old"): void {
    const { totals } = cache.known;
    db.exec(
      `insert or ignore into ${to} select destination, id from ${from} order by destination, id; delete from ${from}`,
    );
    totals.add(ALL, to, totals.rows(ALL, from), 0);
    totals.add(ALL, from, -totals.rows(ALL, from), 0);
  }

  function forget(destination: number, id: string): void {
    const key = idKeyOf(id);
    for (const table of tables) table.forget.run(destination, key);
  }

  /** How many delivered ids of a kind there is no space for. */
  function tooManyOf(kind: EventKind): number {
    const { totals } = cache.known;
    const rows = totals.destinations.reduce((sum, each) => sum + totals.rows(each, `delivered ${kind}`), 0);
    const { most, shareOfSpace } = rowOf(kind).remembered;
    return rows - Math.min(Math.floor((maxBytes * shareOfSpace) / BYTES_EACH), most);
  }

  function forgetSomeOf(kind: EventKind): void {
    const tooMany = tooManyOf(kind);
    const forMs = Math.min(rememberMs, rowOf(kind).remembered.ms);
    const limit = tooMany > 0 ? Math.min(AT_ONCE, tooMany) : AT_ONCE;
    const gone: { destination: number; id: string }[] = forgetSome.all(
      ...[kind, limit, cache.inUseMs - forMs, +(tooMany > 0)],
    );
    for (const { destination, id } of gone) {
      forget(destination, id);
      cache.known.totals.add(destination, `delivered ${kind}`, -1, 0);
    }
  }

  /** Counts an id that is, or will be, among those of delivered events. */
  function countDelivered(destination: number, kind: EventKind): void {
    cache.known.totals.add(destination, `delivered ${kind}`, 1, 0);
    // At once, if they come faster than `forgetOld` is called.
    if (tooManyOf(kind) > AT_ONCE) forgetSomeOf(kind);
  }

  return {
    /** Returns whether it was new. */
    learn(destination: number, id: string): boolean {
      if (learn.run(destination, idKeyOf(id)).changes === 0) return false;
      const { totals } = cache.known;
      totals.add(ALL, "ids_new", 1, 0);
      if (totals.rows(ALL, "ids_new") > MOST_NEW) moveOn("ids_new", "ids_young");
      if (totals.rows(ALL, "ids_young") > MOST_YOUNG) moveOn("ids_young", "ids_old");
      return true;
    },
    isKnown: (destination: number, id: string): boolean => isKnown.get(destination, idKeyOf(id)).known === 1,
    forget,
    countDelivered,
    /** The event is delivered: its id is kept for a while. */
    keepDelivered(destination: number, kind: EventKind, id: string): void {
      remember.run(destination, kind, id, cache.inUseMs, 0);
      countDelivered(destination, kind);
    },
    /** The same for a payment that was cancelled. */
    keepCancelled(destination: number, id: string): void {
      remember.run(destination, "payment", id, cache.inUseMs, 1);
      countDelivered(destination, "payment");
    },
    isCancelled: (destination: number, id: string): boolean => isCancelled.get(id, destination) !== undefined,
    /** The same for events that were counted and are still in their table. */
    keepAllDelivered: (seqs: string): void => void rememberAll.run(cache.inUseMs, seqs),
    /** Forgets some of those that are too old, or too many. */
    forgetOld(): void {
      for (const kind of LEAST_URGENT_FIRST) forgetSomeOf(kind);
    },
  };
}

/** Half of the id's 128 bits: two of a million ids sharing it is as good as impossible. */
function idKeyOf(id: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`));
}
