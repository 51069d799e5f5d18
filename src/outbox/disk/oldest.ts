import type { EventKind } from "../../events.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Holdings } from "./holdings.js";
import type { Lines } from "./lines.js";
import type { Removals } from "./removals.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  oldest: `
    ${SHEDDING_ORDER.map((_, rank) => `select seq, created_at from events where destination = ?1 and urgency = ${rank} and kind = ?2 and seq > ?3`).join(" union all ")}
    order by seq limit ?4`,
} as const;

// As many as may have been delivered since it was last looked for, most often.
const LOOKED_AT = 8;

interface Known {
  readonly seq: number;
  readonly created_at: number;
}

export type Oldest = ReturnType<typeof createOldest>;

/** When the oldest event of a kind happened: looked for only where the one that is remembered has left. */
export function createOldest(
  db: Database,
  parts: { totals: Totals; holdings: Holdings; removals: Removals; lines: Lines },
) {
  const { totals, holdings, removals, lines } = parts;
  const { oldest } = prepareAll(db, STATEMENTS);
  const known = new Map<string, Known>();
  /** The place of the last that was remembered: none is left before it. */
  const places = new Map<string, number>();
  const keyOf = (destination: number, kind: EventKind) => `${destination} ${kind}`;

  function find(destination: number, kind: EventKind): Known | undefined {
    // Where none is lined up, what is claimed came before what waits.
    const claimed = lines.mayBeLined ? undefined : holdings.firstDirect(destination, kind);
    return claimed ?? look(destination, kind, places.get(keyOf(destination, kind)) ?? 0);
  }

  function look(destination: number, kind: EventKind, after: number): Known | undefined {
    const some: Known[] = oldest.all(destination, kind, after, LOOKED_AT);
    const found = some.find(({ seq }) => !removals.has(seq));
    const last = some.at(-1);
    return found || !last ? found : look(destination, kind, last.seq);
  }

  return {
    /** `null` where there is none. */
    of(destination: number, kind: EventKind): number | null {
      const key = keyOf(destination, kind);
      if (totals.rows(destination, kind) === 0) {
        known.delete(key);
        return null;
      }
      const found = known.get(key) ?? find(destination, kind);
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
      if (known.get(key)?.seq !== seq) return;
      known.delete(key);
      places.set(key, seq);
    },
    /** What is remembered may be wrong. */
    forget(): void {
      known.clear();
      places.clear();
    },
  };
}
