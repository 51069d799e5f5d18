import type { EventKind } from "../../events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../kinds.js";
import type { Cache } from "./cache.js";
import { kindKeyOf, type Queues } from "./queues.js";
import type { EventRow, NewRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  oldest: `
    ${LEAST_URGENT_FIRST.map((urgency) => `select seq, created_at from events where destination = ?1 and urgency = ${priorityOf(urgency)} and kind = ?2 and seq > ?3`).join(" union all ")}
    order by seq limit ?4`,
} as const;

// Seldom have more been delivered since the last look.
const LOOKED_AT = 8;

export type Oldest = ReturnType<typeof createOldest>;

/** The oldest event of each destination and kind. */
export function createOldest(db: Database, cache: Cache, queues: Queues) {
  const { oldest } = prepareAll(db, STATEMENTS);
  const lookedUp = cache.lookedUp(() => ({
    /** By destination and kind. */
    found: new Map<string, { readonly seq: number; readonly created_at: number }>(),
    /** By destination and kind: no event is left up to this one. */
    noneUpTo: new Map<string, number>(),
  }));

  return {
    /** When it happened; `null` if there is none. */
    of(destination: number, kind: EventKind): number | null {
      const { known } = cache;
      if (known.totals.rows(destination, kind) === 0) return null;
      const own = lookedUp();
      const key = kindKeyOf(destination, kind);
      // If all queues are empty, claimed events are older than waiting ones.
      const claimed = queues.notes.areEmpty && known.claims.firstOnArrival(destination, kind);
      let found = own.found.get(key) || claimed || undefined;
      for (let after = own.noneUpTo.get(key) ?? 0; !found; ) {
        const some: { seq: number; created_at: number }[] = oldest.all(destination, kind, after, LOOKED_AT);
        found = some.find(({ seq }) => !known.delivered.has(seq));
        after = some.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
        if (some.length === 0) return null;
      }
      own.found.set(key, found);
      return found.created_at;
    },
    /** An event is stored while there is no other of its destination and kind. */
    noteFirst({ destination, kind, seq, created_at }: NewRow): void {
      lookedUp().found.set(kindKeyOf(destination, kind), { seq, created_at });
    },
    /** An event is no longer live. */
    leave({ destination, kind, seq }: Pick<EventRow, "destination" | "kind" | "seq">): void {
      const own = lookedUp();
      const key = kindKeyOf(destination, kind);
      if (own.found.get(key)?.seq !== seq) return;
      own.found.delete(key);
      own.noneUpTo.set(key, seq);
    },
  };
}
