import type { EventKind } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST, rowOf } from "../../../conversion/kinds.js";
import type { Cache } from "./cache.js";

const TABLES = ["ids_new", "ids_young", "ids_old"] as const;
const IS_KNOWN = (table: string) => `exists (select 1 from ${table} where destination = ?1 and id = ?2)`;
const FORGET = (table: string) => `delete from ${table} where destination = ? and id = ?`;

export const STATEMENTS = {
  learn: `insert or ignore into ids_new select ?1, ?2 where not ${IS_KNOWN("ids_young")} and not ${IS_KNOWN("ids_old")}`,
  isKnown: `select ${TABLES.map(IS_KNOWN).join(" or ")} as known`,
  remember: "insert into delivered (destination, kind, id, at, cancelled) values (?, ?, ?, ?, ?)",
  isCancelled: "select 1 from delivered where id = ? and destination = ? and cancelled = 1",
  rememberAll: `
    insert into delivered (destination, kind, id, at)
    select destination, kind, id, ? from events where seq in (select value from json_each(?))`,
  // The first row is the oldest: it shows whether there is anything to forget.
  forgetSome: `
    delete from delivered
    where seq in (select seq from delivered where kind = ?1 order by seq limit ?2) and (at < ?3 or ?4)
    returning destination, id`,
  ids_new: FORGET("ids_new"),
  ids_young: FORGET("ids_young"),
  ids_old: FORGET("ids_old"),
} as const;

const MOVE = (from: string, to: string) => ({
  copy: `insert or ignore into ${to} select destination, id from ${from} order by destination, id`,
  clear: `delete from ${from}`,
});

const MOST_NEW = 4_096;
const MOST_YOUNG = 16 * MOST_NEW;
const BYTES_EACH = 120;
// So few that no other request waits for it.
const AT_ONCE = 1_000;

export type KnownIds = ReturnType<typeof createKnownIds>;

/**
 * The ids of all events that wait, are dead, or were delivered recently. Ids are random: in a large
 * table each new one would change a page of its own, the largest cost of storing an event. So a new
 * id goes into a table of a few pages. From there, thousands move on together, in order. Ids of
 * delivered events are forgotten when they are too old, or too many for `maxBytes`.
 */
export function createKnownIds(
  cache: Cache,
  { maxBytes, rememberMs }: { maxBytes: number; rememberMs: number },
) {
  const statements = cache.prepare(STATEMENTS);
  const { learn, isKnown, isCancelled, remember, rememberAll, forgetSome } = statements;
  const moves = {
    ids_new: cache.prepare(MOVE("ids_new", "ids_young")),
    ids_young: cache.prepare(MOVE("ids_young", "ids_old")),
  };

  function moveOn(from: "ids_new" | "ids_young", to: "ids_young" | "ids_old"): void {
    const { totals } = cache.known;
    const { copy, clear } = moves[from];
    copy.run();
    clear.run();
    totals.addIds(to, totals.ids(from));
    totals.addIds(from, -totals.ids(from));
  }

  function forget(destination: number, id: string): void {
    const key = idKeyOf(id);
    for (const table of TABLES) statements[table].run(destination, key);
  }

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

  function keep(destination: number, kind: EventKind, id: string, cancelled: 0 | 1): void {
    remember.run(destination, kind, id, cache.inUseMs, cancelled);
    countDelivered(destination, kind);
  }

  /** Counts an id that is, or will be, in `delivered`. */
  function countDelivered(destination: number, kind: EventKind): void {
    cache.known.totals.add(destination, `delivered ${kind}`, 1, 0);
    // Forgets at once if they come faster than `forgetOld` is called.
    if (tooManyOf(kind) > AT_ONCE) forgetSomeOf(kind);
  }

  return {
    /** Returns whether it was new. */
    learn(destination: number, id: string): boolean {
      if (learn.run(destination, idKeyOf(id)).changes === 0) return false;
      const { totals } = cache.known;
      totals.addIds("ids_new", 1);
      if (totals.ids("ids_new") > MOST_NEW) moveOn("ids_new", "ids_young");
      if (totals.ids("ids_young") > MOST_YOUNG) moveOn("ids_young", "ids_old");
      return true;
    },
    isKnown: (destination: number, id: string): boolean => isKnown.get(destination, idKeyOf(id)).known === 1,
    forget,
    countDelivered,
    /** The delivered event's id is kept for a while. */
    keepDelivered: (destination: number, kind: EventKind, id: string): void => keep(destination, kind, id, 0),
    keepCancelled: (destination: number, id: string): void => keep(destination, "payment", id, 1),
    isCancelled: (destination: number, id: string): boolean => isCancelled.get(id, destination) !== undefined,
    /** For events that were counted, and are still in their table. */
    keepAllDelivered: (seqs: string): void => void rememberAll.run(cache.inUseMs, seqs),
    /** Forgets some that are too old or too many. */
    forgetOld(): void {
      for (const kind of LEAST_URGENT_FIRST) forgetSomeOf(kind);
    },
  };
}

/** Half of the 128 bits: it is as good as impossible that two of a million ids share it. */
function idKeyOf(id: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`));
}
