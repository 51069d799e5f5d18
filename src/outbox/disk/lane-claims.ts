import { kindOf } from "../../service/endpoints.js";
import type { Lane } from "../outbox.js";
import type { Holdings } from "./holdings.js";
import type { Lines, Waiting } from "./lines.js";
import type { EventRow } from "./rows.js";
import { BEHIND, CLAIMED } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";

const LINED_UP_AT_ONCE = 256;
// Then the transaction has been long enough, should all of them belong to visitors whose events have to wait.
const TIMES = 4;
const FOREVER = Number.MAX_SAFE_INTEGER;

const claiming = (which: string) => `
    update events set ready_at = ${CLAIMED}
    where seq in (
      select seq from events where destination = ?1 and endpoint = ?2 and ready_at < ${BEHIND} and ${which} limit ?3
    )
    returning seq, id, data, created_at, queued_at, history, interrupted`;

export const STATEMENTS = {
  claimOldest: claiming("tried = 0 order by ready_at, seq"),
  claimNewest: claiming("tried = 0 and ready_at >= ?4 order by ready_at desc, seq desc"),
  claimTried: claiming("tried = 1 and ready_at <= ?4 order by ready_at, seq"),
} as const;

export type Row = Pick<
  EventRow,
  "seq" | "id" | "data" | "created_at" | "queued_at" | "history" | "interrupted"
>;

interface FromLane {
  readonly rows: readonly Row[];
  /** Whether not all of its events could be looked at. */
  readonly hasMore: boolean;
}

/** What claims from one lane, at most `limit`. */
export function createLaneClaims(
  db: Database,
  parts: { holdings: Holdings; lines: Lines; owner: string; hasTried: (destination: number) => boolean },
) {
  const { holdings, lines, owner, hasTried } = parts;
  const { claimOldest, claimNewest, claimTried } = prepareAll(db, STATEMENTS);

  return (
    lane: Lane,
    limit: number,
    { destination, pulse, now }: { destination: number; pulse: number; now: number },
  ): FromLane => {
    const { endpoint, newestFirst, newWithinMs, evenResting } = lane;
    const rows: Row[] = [];
    const missing = () => limit - rows.length;
    const claimer = { owner, pulse };
    const since = newWithinMs === undefined ? 0 : now - newWithinMs;
    const areTaken = newestFirst !== true && newWithinMs === undefined;
    const add = (found: readonly Row[]) => {
      rows.push(...found);
      for (const { seq } of found) holdings.addLined(seq, claimer);
    };
    const take = () => {
      if (!lines.mayBeReady(destination, endpoint)) return;
      const found: Row[] = newestFirst
        ? claimNewest.all(destination, endpoint, missing(), since)
        : claimOldest.all(destination, endpoint, missing());
      add(found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq)));
      if (missing() > 0 && !(newestFirst && newWithinMs !== undefined))
        lines.noneIsReady(destination, endpoint);
    };
    /** Claims those that are behind no other before they are lined up: no need to mark them. */
    const takeUpcoming = (event: Waiting) => {
      if (!areTaken || event.endpoint !== endpoint || event.destination !== destination) return false;
      rows.push(event);
      holdings.addDirect(event, claimer);
      return true;
    };
    const areEnough = () => areTaken && missing() === 0;
    const hasMore = () => lines.hasMore(destination, kindOf(endpoint));
    // The newest are the last to line up.
    if (newestFirst && hasMore()) lines.lineUp(LINED_UP_AT_ONCE, takeUpcoming, areEnough);
    take();
    let isLeft = missing() > 0 && hasMore();
    for (let time = 0; isLeft && time < TIMES; time++) {
      lines.lineUp(LINED_UP_AT_ONCE, takeUpcoming, areEnough);
      if (!areTaken) take();
      isLeft = missing() > 0 && hasMore();
    }
    if (!isLeft && missing() > 0 && newWithinMs === undefined && hasTried(destination)) {
      const until = evenResting ? FOREVER : now;
      const found: Row[] = claimTried.all(destination, endpoint, missing(), until);
      add(found.sort((a, b) => a.seq - b.seq));
    }
    return { rows, hasMore: isLeft };
  };
}
