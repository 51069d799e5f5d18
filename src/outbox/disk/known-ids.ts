import { type Database, prepareAll } from "./sqlite.js";
import { ALL, type Totals } from "./totals.js";

const IS_KNOWN = (table: string) => `exists (select 1 from ${table} where destination = ?1 and id = ?2)`;

const forgetting = (table: string) => `delete from ${table} where destination = ? and id = ?`;

const SOME = (table: string) => `(select id from ${table} where destination = ?1 order by id limit ?2)`;

export const STATEMENTS = {
  learn: `insert or ignore into ids_new select ?1, ?2 where not ${IS_KNOWN("ids_young")} and not ${IS_KNOWN("ids_old")}`,
  isKnown: `select ${IS_KNOWN("ids_new")} or ${IS_KNOWN("ids_young")} or ${IS_KNOWN("ids_old")} as known`,
  forgetNew: forgetting("ids_new"),
  forgetYoung: forgetting("ids_young"),
  forgetOld: forgetting("ids_old"),
  copyNew: copying("ids_new"),
  copyYoung: copying("ids_young"),
  copyOld: copying("ids_old"),
  removeNew: removing("ids_new"),
  removeYoung: removing("ids_young"),
  removeOld: removing("ids_old"),
} as const;

function copying(table: string): string {
  return `insert or ignore into ${table} select ?3, id from ${table} where destination = ?1 and id in ${SOME(table)}`;
}

function removing(table: string): string {
  return `delete from ${table} where destination = ?1 and id in ${SOME(table)}`;
}

const MOST_NEW = 4_096;
const MOST_YOUNG = 16 * MOST_NEW;

export type KnownIds = ReturnType<typeof createKnownIds>;

/**
 * The ids of all events that wait, are dead, or were delivered recently. Ids are random: in a large table each new one would
 * change a page of its own, which would be the largest cost of storing an event. So a new id goes into a table of a few pages;
 * from there thousands move on together, in order.
 */
export function createKnownIds(db: Database, totals: Totals) {
  const { learn, isKnown, forgetNew, forgetYoung, forgetOld, ...moving } = prepareAll(db, STATEMENTS);
  const { copyNew, copyYoung, copyOld, removeNew, removeYoung, removeOld } = moving;

  function moveOn(from: "ids_new" | "ids_young", to: "ids_young" | "ids_old"): void {
    db.exec(
      `insert or ignore into ${to} select destination, id from ${from} order by destination, id; delete from ${from}`,
    );
    totals.add(ALL, to, totals.rows(ALL, from), 0);
    totals.add(ALL, from, -totals.rows(ALL, from), 0);
  }

  return {
    /** Returns whether it was new. */
    learn(destination: number, id: string): boolean {
      if (learn.run(destination, idKeyOf(id)).changes === 0) return false;
      totals.add(ALL, "ids_new", 1, 0);
      if (totals.rows(ALL, "ids_new") > MOST_NEW) moveOn("ids_new", "ids_young");
      if (totals.rows(ALL, "ids_young") > MOST_YOUNG) moveOn("ids_young", "ids_old");
      return true;
    },
    isKnown: (destination: number, id: string): boolean => isKnown.get(destination, idKeyOf(id)).known === 1,
    forget(destination: number, id: string): void {
      const key = idKeyOf(id);
      for (const forgetAny of [forgetNew, forgetYoung, forgetOld]) forgetAny.run(destination, key);
    },
    /** Hands over at most `limit` ids of each table. Returns how many there were. */
    handOver(from: number, to: number, limit: number): number {
      const moves = [
        [copyNew, removeNew],
        [copyYoung, removeYoung],
        [copyOld, removeOld],
      ] as const;
      let moved = 0;
      for (const [copy, remove] of moves) {
        copy.run(from, limit, to);
        moved += Number(remove.run(from, limit).changes);
      }
      return moved;
    },
  };
}

/** Half of the id's 128 bits: two of a million ids sharing it is as good as impossible. */
function idKeyOf(id: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`));
}
