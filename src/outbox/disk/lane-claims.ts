import { kindOf } from "../../service/endpoints.js";
import type { Lane } from "../outbox.js";
import type { Head, Lines } from "./lines.js";
import type { EventRow } from "./rows.js";
import { NOT_READY } from "./schema.js";
import { type Database, prepareAll } from "./sqlite.js";

const LINED_UP_AT_ONCE = 256;
// Then the transaction has been long enough, should all of them belong to visitors whose events have to wait.
const TIMES = 4;
const FOREVER = Number.MAX_SAFE_INTEGER;

const claiming = (which: string) => `
    update events set claimed_by = ?1, pulse = ?2, ready_at = ${NOT_READY} where seq in (${which})
    returning seq, id, data, created_at, queued_at, history, interrupted`;

const ready = (which: string) =>
  claiming(
    `select seq from events where destination = ?3 and endpoint = ?4 and ready_at < ${NOT_READY} and ${which} limit ?5`,
  );

export const STATEMENTS = {
  claimOldest: ready("tried = 0 order by ready_at, seq"),
  claimNewest: ready("tried = 0 and ready_at >= ?6 order by ready_at desc, seq desc"),
  claimTried: ready("tried = 1 and ready_at <= ?6 order by ready_at, seq"),
  claimThese: claiming("select value from json_each(?3)"),
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
  parts: { lines: Lines; owner: string; hasTried: (destination: number) => boolean },
) {
  const { lines, owner, hasTried } = parts;
  const { claimOldest, claimNewest, claimTried, claimThese } = prepareAll(db, STATEMENTS);

  return (
    lane: Lane,
    limit: number,
    { destination, pulse, now }: { destination: number; pulse: number; now: number },
  ): FromLane => {
    const { endpoint, newestFirst, newWithinMs, evenResting } = lane;
    const rows: Row[] = [];
    const missing = () => limit - rows.length;
    const since = newWithinMs === undefined ? 0 : now - newWithinMs;
    const take = () => {
      if (!lines.mayBeReady(destination, endpoint)) return;
      const found: Row[] = newestFirst
        ? claimNewest.all(owner, pulse, destination, endpoint, missing(), since)
        : claimOldest.all(owner, pulse, destination, endpoint, missing());
      rows.push(...found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq)));
      if (missing() > 0 && !(newestFirst && newWithinMs !== undefined))
        lines.noneIsReady(destination, endpoint);
    };
    /** Claims those that are ready as they line up: no need to mark them as ready first. */
    const lineUp = (atOnce: number) => {
      let free = newestFirst || newWithinMs !== undefined ? 0 : missing();
      const isWanted = (head: Head) =>
        head.endpoint === endpoint && head.destination === destination && free-- > 0;
      lines.lineUp(atOnce, isWanted, (seqs) => {
        const found: Row[] = claimThese.all(owner, pulse, JSON.stringify(seqs));
        rows.push(...found.sort((a, b) => a.seq - b.seq));
      });
    };
    const hasMore = () => lines.hasMore(destination, kindOf(endpoint));
    // The newest are the last to line up.
    if (newestFirst && hasMore()) lineUp(LINED_UP_AT_ONCE);
    take();
    let isLeft = missing() > 0 && hasMore();
    for (let time = 0; isLeft && time < TIMES; time++) {
      lineUp(time === 0 ? Math.min(missing(), LINED_UP_AT_ONCE) : LINED_UP_AT_ONCE);
      if (newestFirst || newWithinMs !== undefined) take();
      isLeft = missing() > 0 && hasMore();
    }
    if (!isLeft && missing() > 0 && newWithinMs === undefined && hasTried(destination)) {
      const until = evenResting ? FOREVER : now;
      const found: Row[] = claimTried.all(owner, pulse, destination, endpoint, missing(), until);
      rows.push(...found.sort((a, b) => a.seq - b.seq));
    }
    return { rows, hasMore: isLeft };
  };
}
