import { kindOf } from "../../service/endpoints.js";
import type { Lane } from "../outbox.js";
import type { Urgency } from "../urgency.js";
import type { ClaimOwners } from "./claim-owners.js";
import { type EventRow, rankOf } from "./rows.js";
import { BEHIND, CLAIMED } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Upcoming, VisitorQueues } from "./visitor-queues.js";

const ENTERED_AT_ONCE = 256;
// After so many rounds the transaction is long enough, even if all these events have to wait for others.
const TIMES = 4;
const FOREVER = Number.MAX_SAFE_INTEGER;

const claiming = (which: string) => `
    update events set ready_at = ${CLAIMED}
    where seq in (
      select seq from events
      where destination = ?1 and endpoint = ?2 and urgency = ?3 and ready_at < ${BEHIND} and ${which} limit ?5
    )
    returning seq, id, data, created_at, queued_at, history, interrupted`;

export const STATEMENTS = {
  claimOldest: claiming("tried = 0 and ready_at >= ?4 order by ready_at, seq"),
  claimNewest: claiming("tried = 0 and ready_at >= ?4 order by ready_at desc, seq desc"),
  claimTried: claiming("tried = 1 and ready_at <= ?4 order by ready_at, seq"),
  anyUntried: `
    select 1 from events
    where destination = ? and endpoint = ? and urgency = ? and ready_at < ${BEHIND} and tried = 0 limit 1`,
  anyRested: `
    select 1 from events
    where destination = ? and endpoint = ? and urgency = ? and ready_at <= ? and tried = 1 and ready_at < ${BEHIND} limit 1`,
} as const;

export type Row = Pick<
  EventRow,
  "seq" | "id" | "data" | "created_at" | "queued_at" | "history" | "interrupted"
>;

const bySeq = (one: Row, other: Row) => one.seq - other.seq;

/** Whose events are claimed, and when. */
interface About {
  readonly destination: number;
  readonly heartbeat: number;
  readonly now: number;
}

/** Claims events of one lane and one urgency. */
export function createLaneClaims(
  db: Database,
  parts: {
    owners: ClaimOwners;
    queues: VisitorQueues;
    owner: string;
    hasTried: (destination: number) => boolean;
  },
) {
  const { owners, queues, owner, hasTried } = parts;
  const { claimOldest, claimNewest, claimTried, anyUntried, anyRested } = prepareAll(db, STATEMENTS);

  function recordClaims(rows: readonly Row[], claimer: { owner: string; heartbeat: number }): readonly Row[] {
    for (const { seq } of rows) owners.addQueued(seq, claimer);
    return rows;
  }

  return {
    /** Claims at most `limit` events that were never tried. `hasMore`: some that may have to go first could not be looked at. */
    claimUntried(
      lane: Lane,
      urgency: Urgency,
      limit: number,
      { destination, heartbeat, now }: About,
    ): { readonly rows: readonly Row[]; readonly hasMore: boolean } {
      const { endpoint, newestFirst, newWithinMs } = lane;
      const rows: Row[] = [];
      const missing = () => limit - rows.length;
      const claimer = { owner, heartbeat };
      const which = [destination, endpoint, rankOf(urgency)] as const;
      const since = newWithinMs === undefined ? 0 : now - newWithinMs;
      // Events of another kind are in a queue: a more urgent one waits behind them.
      const isOfKind = kindOf(endpoint) === urgency;
      const areTaken = isOfKind && newestFirst !== true && newWithinMs === undefined;
      const take = () => {
        if (missing() <= 0 || !queues.mayBeReady(...which)) return;
        const found: Row[] = (newestFirst ? claimNewest : claimOldest).all(...which, since, missing());
        rows.push(...recordClaims(found.sort(newestFirst ? (a, b) => b.seq - a.seq : bySeq), claimer));
        if (missing() > 0 && newWithinMs === undefined) queues.noteNoneReady(...which);
      };
      /** Claims events on arrival: they need no mark. */
      const takeUpcoming = (event: Upcoming) => {
        if (!areTaken || event.endpoint !== endpoint || event.destination !== destination) return false;
        rows.push(event);
        owners.addOnArrival(event, claimer);
        return true;
      };
      const areEnough = () => areTaken && missing() <= 0;
      const lineUp = () => queues.enter(ENTERED_AT_ONCE, now, takeUpcoming, areEnough);
      const hasMore = () => (missing() > 0 || !isOfKind) && queues.hasMore(destination, urgency);
      // The newest are the last to enter a queue.
      if (isOfKind && newestFirst && hasMore()) lineUp();
      if (isOfKind) take();
      for (let time = 0; time < TIMES && hasMore(); time++) {
        lineUp();
        if (isOfKind && !areTaken) take();
      }
      if (hasMore()) return { rows, hasMore: true };
      if (!isOfKind) take();
      return { rows, hasMore: false };
    },
    /** Claims at most `limit` events that were tried: only rested ones, or resting ones too. */
    claimTried(
      { endpoint }: Lane,
      urgency: Urgency,
      limit: number,
      { destination, heartbeat, now, even }: About & { readonly even: "rested" | "resting" },
    ): readonly Row[] {
      if (!hasTried(destination)) return [];
      const until = even === "resting" ? FOREVER : now;
      const found: Row[] = claimTried.all(destination, endpoint, rankOf(urgency), until, limit);
      return recordClaims(found.sort(bySeq), { owner, heartbeat });
    },
    /** Whether one is ready that was never tried. */
    isAnyUntried({ endpoint }: Lane, urgency: Urgency, { destination }: About): boolean {
      const which = [destination, endpoint, rankOf(urgency)] as const;
      return queues.mayBeReady(...which) && anyUntried.get(...which) !== undefined;
    },
    /** Whether one has rested after an attempt. */
    isAnyRested({ endpoint }: Lane, urgency: Urgency, { destination, now }: About): boolean {
      return (
        hasTried(destination) && anyRested.get(destination, endpoint, rankOf(urgency), now) !== undefined
      );
    },
  };
}
