import { priorityOf } from "../../kinds.js";
import { kindOf } from "../../service/endpoints.js";
import type { Lane } from "../outbox.js";
import type { Urgency } from "../urgency.js";
import type { Cache } from "./cache.js";
import type { Claimer } from "./claimed-events.js";
import type { Queues } from "./queues.js";
import type { NewRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

const ENTERED_AT_ONCE = 256;
// After so many rounds the transaction is long enough, even if all these events have to wait for others.
const TIMES = 4;
const FOREVER = Number.MAX_SAFE_INTEGER;

const NOT_CLAIMED = "seq not in (select value from json_each(?5))";
const ofLane = "destination = ?1 and endpoint = ?2 and urgency = ?3";

const heads = (which: string) => `
  select seq, id, data, created_at, queued_at, history, interrupted from events
  where ${ofLane} and ${NOT_CLAIMED} and ${which} limit ?6`;

export const STATEMENTS = {
  oldest: heads("state = 'ready' and ready_at >= ?4 order by ready_at, seq"),
  newest: heads("state = 'ready' and ready_at >= ?4 order by ready_at desc, seq desc"),
  tried: heads("state = 'tried' and ready_at <= ?4 order by ready_at, seq"),
  anyTried: "select 1 from events where destination = ? and state = 'tried' limit 1",
} as const;

export type Row = Pick<
  NewRow,
  "seq" | "id" | "data" | "created_at" | "queued_at" | "history" | "interrupted" | "event"
>;

/** Claims events of one lane and one urgency. */
export function createLaneClaims(db: Database, cache: Cache, queues: Queues) {
  const { oldest, newest, tried, anyTried } = prepareAll(db, STATEMENTS);

  function hasTried(destination: number): boolean {
    const { totals } = cache.known;
    return queues.notes.mayBeTried(
      destination,
      () => !totals.isEmpty && anyTried.get(destination) !== undefined,
    );
  }

  const claimed = () => JSON.stringify(cache.known.claims.seqs());

  /** The claims of one process at one moment. */
  function begin(claimer: Claimer, destination: number, now: number) {
    const { claims } = cache.known;
    const keyOf = ({ endpoint }: Lane, urgency: Urgency) =>
      [destination, endpoint, priorityOf(urgency)] as const;

    function claim(rows: readonly Row[]): readonly Row[] {
      for (const { seq } of rows) claims.add(seq, claimer);
      return rows;
    }

    return {
      /** Claims at most `limit` events that were never tried. `hasMore`: some that may have to go first could not be looked at. */
      claimUntried(lane: Lane, urgency: Urgency, limit: number): { rows: readonly Row[]; hasMore: boolean } {
        const { endpoint, newestFirst = false, newWithinMs } = lane;
        const rows: Row[] = [];
        const missing = () => limit - rows.length;
        const key = keyOf(lane, urgency);
        const since = newWithinMs === undefined ? 0 : now - newWithinMs;
        // Events of another kind are in a queue: a more urgent one waits behind them.
        const isOfKind = kindOf(endpoint) === urgency;
        const areTaken = isOfKind && !newestFirst && newWithinMs === undefined;
        const take = () => {
          if (missing() <= 0 || !queues.notes.mayBeReady(...key)) return;
          const found: Row[] = (newestFirst ? newest : oldest).all(...key, since, claimed(), missing());
          rows.push(...claim(found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq))));
          if (missing() > 0 && newWithinMs === undefined) queues.notes.noteNoneReady(...key);
        };
        const takeNew = (event: NewRow) => {
          if (!areTaken || event.endpoint !== endpoint || event.destination !== destination) return false;
          rows.push(event);
          claims.add(event.seq, claimer, event);
          return true;
        };
        const enter = () => queues.enter(ENTERED_AT_ONCE, now, takeNew, () => areTaken && missing() <= 0);
        const hasMore = () => (missing() > 0 || !isOfKind) && queues.hasMore(destination, urgency);
        // The newest are the last to enter a queue.
        if (isOfKind && newestFirst && hasMore()) enter();
        if (isOfKind) take();
        for (let time = 0; time < TIMES && hasMore(); time++) {
          enter();
          if (isOfKind && !areTaken) take();
        }
        if (hasMore()) return { rows, hasMore: true };
        if (!isOfKind) take();
        return { rows, hasMore: false };
      },
      /** Claims at most `limit` events that were tried: only rested ones, or resting ones too. */
      claimTried(lane: Lane, urgency: Urgency, limit: number, which: "rested" | "resting"): readonly Row[] {
        if (!hasTried(destination)) return [];
        const until = which === "resting" ? FOREVER : now;
        const found: Row[] = tried.all(...keyOf(lane, urgency), until, claimed(), limit);
        return claim(found.sort((a, b) => a.seq - b.seq));
      },
    };
  }

  return {
    begin,
    /** Whether an event of a destination may have been tried. */
    hasTried,
  };
}
