import { prepareAll } from "./live-events.js";
import type { Database } from "./sqlite.js";
import type { Totals } from "./totals.js";

const STATEMENTS = {
  remember: "insert or ignore into delivered (id, at) values (?, ?)",
  // The oldest are the first: a look at one row says whether there is anything to forget.
  forget:
    "delete from delivered where seq in (select seq from delivered order by seq limit ?1) and (at < ?2 or ?3)",
} as const;

// So many that nobody waits for it.
const AT_ONCE = 1_000;

export type Delivered = ReturnType<typeof createDelivered>;

/** The ids of what the service has, so that it does not get it again. */
export function createDelivered(
  db: Database,
  { totals, max, rememberMs }: { totals: Totals; max: number; rememberMs: number },
) {
  const { remember, forget } = prepareAll(db, STATEMENTS);

  return {
    add(id: string, now: number): void {
      if (remember.run(id, now).changes === 1) totals.add("delivered", 1, 0);
    },
    /** Forgets some of those that are too old, or too many. */
    forgetSome(now: number): void {
      const rows = totals.rows("delivered");
      if (rows === 0) return;
      const tooMany = rows > max;
      const atOnce = tooMany ? Math.min(AT_ONCE, rows - max) : AT_ONCE;
      const { changes } = forget.run(atOnce, now - rememberMs, +tooMany);
      if (changes > 0) totals.add("delivered", -Number(changes), 0);
    },
  };
}
