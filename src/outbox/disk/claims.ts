import type { Endpoint } from "../../service/endpoints.js";
import type { Capacity, History } from "../outbox.js";
import { type Claiming, createClaiming } from "./claiming.js";
import type { Destinations } from "./destinations.js";
import type { Holdings } from "./holdings.js";
import type { Lines } from "./lines.js";
import type { Claimed } from "./protocol.js";
import { rankOf } from "./rows.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

export const STATEMENTS = {
  // One that is more urgent than its kind may have become so since it was claimed.
  release: `
    update events set ready_at = case when tried or urgency > ?4 then ?3 else queued_at end where seq = ?1 and id = ?2
    returning destination, endpoint, urgency`,
  // What another process has taken over from one that never sent it.
  clear: "update events set interrupted = 0 where seq = ? and id = ?",
  rest: `
    update events set interrupted = 0, tried = 1, history = ?3, ready_at = ?4 where seq = ?1 and id = ?2`,
  placeOf: `
    select seq from events where seq in (select value from json_each(?)) and id = ? and destination = ?`,
  nextReady: `
    select ready_at from events
    where destination = ? and ready_at < ${BEHIND} and tried = 1 and ready_at > ? order by ready_at limit 1`,
  anyTried: "select 1 from events where destination = ? and tried = 1 limit 1",
} as const;

export type Claims = ReturnType<typeof createClaims>;

/** Takes events whose turn it is, and gives them back. One that is at the head of its visitor's line has a time at which it is ready. */
export function createClaims(
  db: Database,
  parts: {
    state: State;
    destinations: Destinations;
    totals: Totals;
    holdings: Holdings;
    lines: Lines;
    unreadable: Unreadable;
    owner: string;
  },
) {
  const { state, destinations, holdings, lines } = parts;
  const { release, clear, rest, placeOf, nextReady, anyTried } = prepareAll(db, STATEMENTS);
  const begin = createClaiming(db, { ...parts, hasTried });
  /** The destination that was last claimed for: it is for its events that this process waits. */
  let own: string | undefined;
  let last: Claiming | undefined;
  /** Whether an event of that destination was tried; `undefined`: not known, the file can tell. */
  let tried: boolean | undefined;

  function hasTried(destination: number): boolean {
    tried ??= anyTried.get(destination) !== undefined;
    return tried;
  }

  return {
    /** Claims events, of what is in the file and of what comes in the same transaction. `coming`: see `createClaiming`. */
    begin(
      capacity: Capacity,
      life: { pulse: number; life: number },
      coming: ReadonlyMap<Endpoint, number>,
      now: number,
    ): Claiming {
      if (own !== capacity.destination) tried = undefined;
      own = capacity.destination;
      last = begin(capacity, { ...life, destination: destinations.numberOf(own), coming, now });
      return last;
    },
    /** Gives a claimed event back as it was. Returns whether it was still claimed. */
    release({ seq, id, kind, owner: by, interrupted }: Claimed, now: number): boolean {
      state.touch();
      const row = holdings.ownerOf(seq) === by ? release.get(seq, id, now, rankOf(kind)) : undefined;
      if (row) {
        holdings.remove(seq);
        lines.isGivenBack(row);
        return true;
      }
      return !interrupted && holdings.ownerOf(seq) === undefined && clear.run(seq, id).changes > 0;
    },
    /** Gives a claimed event back after an attempt, to be ready again at `readyAt`. Returns whether it was still claimed. */
    rest({ seq, id, owner: by }: Claimed, history: History, readyAt: number): boolean {
      if (holdings.ownerOf(seq) !== by) return false;
      if (rest.run(seq, id, JSON.stringify(history), Math.ceil(readyAt)).changes === 0) return false;
      holdings.remove(seq);
      lines.linesUp();
      tried = true;
      return true;
    },
    /** Where it is, of what this process has claimed. */
    placeOf: ({ id, destination, owner: by }: Claimed): number | undefined =>
      placeOf.get(JSON.stringify(holdings.places(by)), id, destinations.numberOf(destination))?.seq,
    /** When there may next be something to claim that there was not at the last claim. */
    nextReadyAt(now: number): number | null {
      if (own === undefined) return null;
      if (last?.hasMore) return now;
      const destination = destinations.numberOf(own);
      if (!hasTried(destination)) return null;
      const found = nextReady.get(destination, now);
      // Perhaps none is left.
      if (!found) tried = undefined;
      return found?.ready_at ?? null;
    },
    /** What is remembered may be wrong. */
    forget(): void {
      tried = undefined;
    },
  };
}
