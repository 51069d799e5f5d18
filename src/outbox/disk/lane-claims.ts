import { kindOf } from "../../service/endpoints.js";
import type { Lane } from "../outbox.js";
import type { Urgency } from "../urgency.js";
import type { Holdings } from "./holdings.js";
import type { Lines, Waiting } from "./lines.js";
import { type EventRow, rankOf } from "./rows.js";
import { BEHIND, CLAIMED } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";

const LINED_UP_AT_ONCE = 256;
// Then the transaction has been long enough, should all of them belong to visitors whose events have to wait.
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
  readonly pulse: number;
  readonly now: number;
}

/** What claims from one lane events of one urgency. */
export function createLaneClaims(
  db: Database,
  parts: { holdings: Holdings; lines: Lines; owner: string; hasTried: (destination: number) => boolean },
) {
  const { holdings, lines, owner, hasTried } = parts;
  const { claimOldest, claimNewest, claimTried, anyUntried, anyRested } = prepareAll(db, STATEMENTS);

  function lined(rows: readonly Row[], claimer: { owner: string; pulse: number }): readonly Row[] {
    for (const { seq } of rows) holdings.addLined(seq, claimer);
    return rows;
  }

  return {
    /** Claims at most `limit` that were never tried. `hasMore`: whether not all could be looked at that may have to go first. */
    claimUntried(
      lane: Lane,
      urgency: Urgency,
      limit: number,
      { destination, pulse, now }: About,
    ): { readonly rows: readonly Row[]; readonly hasMore: boolean } {
      const { endpoint, newestFirst, newWithinMs } = lane;
      const rows: Row[] = [];
      const missing = () => limit - rows.length;
      const claimer = { owner, pulse };
      const which = [destination, endpoint, rankOf(urgency)] as const;
      const since = newWithinMs === undefined ? 0 : now - newWithinMs;
      // Others are lined up: what makes them so urgent is behind them.
      const isOfKind = kindOf(endpoint) === urgency;
      const areTaken = isOfKind && newestFirst !== true && newWithinMs === undefined;
      const take = () => {
        if (missing() <= 0 || !lines.mayBeReady(...which)) return;
        const found: Row[] = (newestFirst ? claimNewest : claimOldest).all(...which, since, missing());
        rows.push(...lined(found.sort(newestFirst ? (a, b) => b.seq - a.seq : bySeq), claimer));
        if (missing() > 0 && newWithinMs === undefined) lines.noneIsReady(...which);
      };
      /** Claims those that are behind no other before they are lined up: no need to mark them. */
      const takeUpcoming = (event: Waiting) => {
        if (!areTaken || event.endpoint !== endpoint || event.destination !== destination) return false;
        rows.push(event);
        holdings.addDirect(event, claimer);
        return true;
      };
      const areEnough = () => areTaken && missing() <= 0;
      const lineUp = () => lines.lineUp(LINED_UP_AT_ONCE, now, takeUpcoming, areEnough);
      const hasMore = () => (missing() > 0 || !isOfKind) && lines.hasMore(destination, urgency);
      // The newest are the last to line up.
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
    /** Claims at most `limit` that were tried: which have rested, or rest. */
    claimTried(
      { endpoint }: Lane,
      urgency: Urgency,
      limit: number,
      { destination, pulse, now, even }: About & { readonly even: "rested" | "resting" },
    ): readonly Row[] {
      if (!hasTried(destination)) return [];
      const until = even === "resting" ? FOREVER : now;
      const found: Row[] = claimTried.all(destination, endpoint, rankOf(urgency), until, limit);
      return lined(found.sort(bySeq), { owner, pulse });
    },
    /** Whether one is ready that was never tried. */
    isAnyUntried({ endpoint }: Lane, urgency: Urgency, { destination }: About): boolean {
      const which = [destination, endpoint, rankOf(urgency)] as const;
      return lines.mayBeReady(...which) && anyUntried.get(...which) !== undefined;
    },
    /** Whether one has rested after an attempt. */
    isAnyRested({ endpoint }: Lane, urgency: Urgency, { destination, now }: About): boolean {
      return (
        hasTried(destination) && anyRested.get(destination, endpoint, rankOf(urgency), now) !== undefined
      );
    },
  };
}
