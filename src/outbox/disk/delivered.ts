import type { KnownIds } from "./known-ids.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

const STATEMENTS = {
  remember: "insert into delivered (id, at) values (?, ?)",
  // The oldest are the first: a look at one row says whether there is anything to forget.
  forget: `
    delete from delivered where seq in (select seq from delivered order by seq limit ?1) and (at < ?2 or ?3)
    returning id`,
} as const;

// So few that no other request waits for it.
const AT_ONCE = 1_000;

export type Delivered = ReturnType<typeof createDelivered>;

/** Which of the known ids are those of events that the service has, and since when: until it is time to forget them. */
export function createDelivered(
  db: Database,
  { totals, ids, max, rememberMs }: { totals: Totals; ids: KnownIds; max: number; rememberMs: number },
) {
  const { remember, forget } = prepareAll(db, STATEMENTS);

  return {
    add(id: string, now: number): void {
      remember.run(id, now);
      totals.add("delivered", 1, 0);
    },
    /** Forgets some of those that are too old, or too many. */
    forgetSome(now: number): void {
      const rows = totals.rows("delivered");
      if (rows === 0) return;
      const tooMany = rows > max;
      const atOnce = tooMany ? Math.min(AT_ONCE, rows - max) : AT_ONCE;
      const forgotten: { id: string }[] = forget.all(atOnce, now - rememberMs, +tooMany);
      for (const { id } of forgotten) ids.forget(id);
      if (forgotten.length > 0) totals.add("delivered", -forgotten.length, 0);
    },
  };
}
