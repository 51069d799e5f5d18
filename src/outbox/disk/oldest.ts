import type { EventKind } from "../../events.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  oldest: "select seq, created_at from events where destination = ? and kind = ? order by seq limit 1",
} as const;

interface Known {
  readonly seq: number;
  readonly created_at: number;
}

export type Oldest = ReturnType<typeof createOldest>;

/** When the oldest event of a kind happened: looked for only where the one that is remembered has left. */
export function createOldest(db: Database, totals: Totals) {
  const { oldest } = prepareAll(db, STATEMENTS);
  const known = new Map<string, Known>();
  const keyOf = (destination: number, kind: EventKind) => `${destination} ${kind}`;

  return {
    /** `null` where there is none. */
    of(destination: number, kind: EventKind): number | null {
      const key = keyOf(destination, kind);
      if (totals.rows(destination, kind) === 0) {
        known.delete(key);
        return null;
      }
      const found: Known | undefined = known.get(key) ?? oldest.get(destination, kind);
      if (found) known.set(key, found);
      return found?.created_at ?? null;
    },
    /** An event comes: to be called before it is counted. */
    came(destination: number, kind: EventKind, seq: number, createdAt: number): void {
      if (totals.rows(destination, kind) === 0)
        known.set(keyOf(destination, kind), { seq, created_at: createdAt });
    },
    left(destination: number, kind: EventKind, seq: number): void {
      const key = keyOf(destination, kind);
      if (known.get(key)?.seq === seq) known.delete(key);
    },
    /** What is remembered may be wrong. */
    forget(): void {
      known.clear();
    },
  };
}
