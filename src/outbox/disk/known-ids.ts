import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  learn: `
    insert or ignore into ids_new
    select ?1 where not exists (select 1 from ids_young where id = ?1) and not exists (select 1 from ids_old where id = ?1)`,
  forgetNew: "delete from ids_new where id = ?",
  forgetYoung: "delete from ids_young where id = ?",
  forgetOld: "delete from ids_old where id = ?",
} as const;

const MOST_NEW = 4_096;
const MOST_YOUNG = 16 * MOST_NEW;

export type KnownIds = ReturnType<typeof createKnownIds>;

/**
 * The ids of all that waits, is dead, or was delivered not long ago. They are random, so that each new one would change a
 * page of its own in a large table; that is what storing an event would cost most for. So they are learned in a table of
 * a few pages, and moved on by the thousand, in order.
 */
export function createKnownIds(db: Database, totals: Totals) {
  const { learn, forgetNew, forgetYoung, forgetOld } = prepareAll(db, STATEMENTS);

  function moveOn(from: "ids_new" | "ids_young", to: "ids_young" | "ids_old"): void {
    db.exec(`insert into ${to} select id from ${from} order by id; delete from ${from}`);
    totals.add(to, totals.rows(from), 0);
    totals.add(from, -totals.rows(from), 0);
  }

  return {
    /** Returns whether it was not known. */
    learn(id: string): boolean {
      if (learn.run(keyOf(id)).changes === 0) return false;
      totals.add("ids_new", 1, 0);
      if (totals.rows("ids_new") > MOST_NEW) moveOn("ids_new", "ids_young");
      if (totals.rows("ids_young") > MOST_YOUNG) moveOn("ids_young", "ids_old");
      return true;
    },
    forget(id: string): void {
      const key = keyOf(id);
      for (const forgetAny of [forgetNew, forgetYoung, forgetOld]) forgetAny.run(key);
    },
  };
}

/** Half of its 128 bits: of a million ids, no two share it in all likelihood there is. */
function keyOf(id: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${id.slice(0, 16)}`));
}
