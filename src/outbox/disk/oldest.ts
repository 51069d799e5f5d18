import type { EventKind } from "../../events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../kinds.js";
import type { Cache } from "./cache.js";
import { kindKeyOf } from "./queues.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  oldest: `
    ${LEAST_URGENT_FIRST.map((urgency) => `select seq, created_at from events where destination = ?1 and urgency = ${priorityOf(urgency)} and kind = ?2 and seq > ?3`).join(" union all ")}
    order by seq limit ?4`,
} as const;

// Seldom have more been delivered since the last look.
const LOOKED_AT = 8;

/** Tells when the oldest event of a destination and kind happened; `null` where there is none. */
export function createOldest(db: Database, cache: Cache) {
  const { oldest } = prepareAll(db, STATEMENTS);

  return (destination: number, kind: EventKind): number | null => {
    const { known } = cache;
    if (known.totals.rows(destination, kind) === 0) return null;
    const key = kindKeyOf(destination, kind);
    // If all queues are empty, claimed events are older than waiting ones.
    const claimed = known.anyQueued === false && known.claims.firstOnArrival(destination, kind);
    let found = known.oldest.get(key) || claimed || undefined;
    for (let after = known.noneUpTo.get(key) ?? 0; !found; ) {
      const some: { seq: number; created_at: number }[] = oldest.all(destination, kind, after, LOOKED_AT);
      found = some.find(({ seq }) => !known.delivered.has(seq));
      after = some.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
      if (some.length === 0) return null;
    }
    known.oldest.set(key, found);
    return found.created_at;
  };
}
