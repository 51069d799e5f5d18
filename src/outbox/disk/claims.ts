import type { Endpoint } from "../../service/endpoints.js";
import type { Capacity, History } from "../outbox.js";
import type { ClaimOwners } from "./claim-owners.js";
import { type Claiming, createClaiming } from "./claiming.js";
import type { Destinations } from "./destinations.js";
import type { Claimed } from "./protocol.js";
import { rankOf } from "./rows.js";
import { BEHIND } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";
import type { VisitorQueues } from "./visitor-queues.js";

export const STATEMENTS = {
  // An event that is more urgent than its kind may have become so after the claim.
  release: `
    update events set ready_at = case when tried or urgency > ?4 then ?3 else queued_at end where seq = ?1 and id = ?2
    returning destination, endpoint, urgency`,
  // Another process has taken the event over, and this one never sent it.
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

/** Claims and releases events. The head of a visitor's queue has a time from which it is ready. */
export function createClaims(
  db: Database,
  parts: {
    state: State;
    destinations: Destinations;
    totals: Totals;
    owners: ClaimOwners;
    queues: VisitorQueues;
    unreadable: Unreadable;
    owner: string;
  },
) {
  const { state, destinations, owners, queues } = parts;
  const { release, clear, rest, placeOf: seqOf, nextReady, anyTried } = prepareAll(db, STATEMENTS);
  const begin = createClaiming(db, { ...parts, hasTried });
  /** The destination of the last claim: this process waits for its events. */
  let own: string | undefined;
  let last: Claiming | undefined;
  /** Whether an event of that destination was tried; `undefined`: ask the file. */
  let tried: boolean | undefined;

  function hasTried(destination: number): boolean {
    tried ??= anyTried.get(destination) !== undefined;
    return tried;
  }

  return {
    /** Claims events in the file, and events appended in the same transaction. `coming`: see `createClaiming`. */
    begin(
      capacity: Capacity,
      life: { heartbeat: number; leaseEpoch: number },
      coming: ReadonlyMap<Endpoint, number>,
      now: number,
    ): Claiming {
      if (own !== capacity.destination) tried = undefined;
      own = capacity.destination;
      last = begin(capacity, { ...life, destination: destinations.numberOf(own), coming, now });
      return last;
    },
    /** Releases a claimed event. Returns whether it was still claimed. */
    release({ seq, id, kind, owner: by, interrupted }: Claimed, now: number): boolean {
      state.touch();
      const row = owners.ownerOf(seq) === by ? release.get(seq, id, now, rankOf(kind)) : undefined;
      if (row) {
        owners.remove(seq);
        queues.noteReleased(row);
        return true;
      }
      return !interrupted && owners.ownerOf(seq) === undefined && clear.run(seq, id).changes > 0;
    },
    /** Ends the claim after an attempt; the event is ready again at `readyAt`. Returns whether it was still claimed. */
    rest({ seq, id, owner: by }: Claimed, history: History, readyAt: number): boolean {
      if (owners.ownerOf(seq) !== by) return false;
      if (rest.run(seq, id, JSON.stringify(history), Math.ceil(readyAt)).changes === 0) return false;
      owners.remove(seq);
      queues.noteNotEmpty();
      tried = true;
      return true;
    },
    /** The sequence number of an event that this process has claimed. */
    placeOf: ({ id, destination, owner: by }: Claimed): number | undefined =>
      seqOf.get(JSON.stringify(owners.seqs(by)), id, destinations.numberOf(destination))?.seq,
    /** From when on a claim may find more than the last one did. */
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
