import type { EventKind } from "../../events.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { ClaimOwners } from "./claim-owners.js";
import type { Removals } from "./removals.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";
import type { VisitorQueues } from "./visitor-queues.js";

export const STATEMENTS = {
  oldest: `
    ${SHEDDING_ORDER.map((_, rank) => `select seq, created_at from events where destination = ?1 and urgency = ${rank} and kind = ?2 and seq > ?3`).join(" union all ")}
    order by seq limit ?4`,
} as const;

// Seldom have more been delivered since the last look.
const LOOKED_AT = 8;

interface Known {
  readonly seq: number;
  readonly created_at: number;
}

export type Oldest = ReturnType<typeof createOldest>;

/** When the oldest event of a kind happened. Looked up only once the remembered one has left. */
export function createOldest(
  db: Database,
  parts: { totals: Totals; owners: ClaimOwners; removals: Removals; queues: VisitorQueues },
) {
  const { totals, owners, removals, queues } = parts;
  const { oldest } = prepareAll(db, STATEMENTS);
  const known = new Map<string, Known>();
  /** The sequence number of the last remembered one: no event is left before it. */
  const lastSeqs = new Map<string, number>();
  const keyOf = (destination: number, kind: EventKind) => `${destination} ${kind}`;

  function find(destination: number, kind: EventKind): Known | undefined {
    // If all queues are empty, claimed events are older than waiting ones.
    const claimed = queues.mayHaveAny ? undefined : owners.firstOnArrival(destination, kind);
    return claimed ?? look(destination, kind, lastSeqs.get(keyOf(destination, kind)) ?? 0);
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
    /** To be called for each stored event, before it is counted. */
    came(destination: number, kind: EventKind, seq: number, createdAt: number): void {
      if (totals.rows(destination, kind) === 0)
        known.set(keyOf(destination, kind), { seq, created_at: createdAt });
    },
    left(destination: number, kind: EventKind, seq: number): void {
      const key = keyOf(destination, kind);
      if (known.get(key)?.seq !== seq) return;
      known.delete(key);
      lastSeqs.set(key, seq);
    },
    /** What is remembered may be wrong. */
    forget(): void {
      known.clear();
      lastSeqs.clear();
    },
  };
}
