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
 * The ids of all that waits, is dead, or was delivered not long ago. They are random, so that each new one would change a
 * page of its own in a large table; that is what storing an event would cost most for. So they are learned in a table of
 * a few pages, and moved on by the thousand, in order.
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
    /** Returns whether it was not known. */
    learn(destination: number, id: string): boolean {
      if (learn.run(destination, keyOf(id)).changes === 0) return false;
      totals.add(ALL, "ids_new", 1, 0);
      if (totals.rows(ALL, "ids_new") > MOST_NEW) moveOn("ids_new", "ids_young");
      if (totals.rows(ALL, "ids_young") > MOST_YOUNG) moveOn("ids_young", "ids_old");
      return true;
    },
    isKnown: (destination: number, id: string): boolean => isKnown.get(destination, keyOf(id)).known === 1,
    forget(destination: number, id: string): void {
      const key = keyOf(id);
      for (const forgetAny of [forgetNew, forgetYoung, forgetOld]) forgetAny.run(destination, key);
    },
    /** Makes at most `limit` in each table, of one destination, another's. Returns how many there were. */
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

/** Half of its 128 bits: of a million ids, no two share it in all likelihood there is. */
function keyOf(id: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`));
}
