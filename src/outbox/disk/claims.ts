import { kindOf } from "../../service/endpoints.js";
import { type Capacity, type History, type Lane, UNTRIED } from "../outbox.js";
import type { Destinations } from "./destinations.js";
import type { Lines } from "./lines.js";
import type { Claimed, DiskClaim } from "./protocol.js";
import { type EventRow, eventOf, parsedOf } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

const LINED_UP_AT_ONCE = 256;
// Then the transaction has been long enough, should all of them belong to visitors whose events have to wait.
const TIMES = 4;
const FOREVER = Number.MAX_SAFE_INTEGER;

const claiming = (which: string) => `
    update events set claimed_by = ?1, pulse = ?2, ready_at = null
    where seq in (
      select seq from events where destination = ?3 and endpoint = ?4 and ready_at is not null and ${which} limit ?5
    )
    returning seq, id, kind, data, created_at, queued_at, history, interrupted`;

export const STATEMENTS = {
  claimOldest: claiming("tried = 0 order by ready_at, seq"),
  claimNewest: claiming("tried = 0 and ready_at >= ?6 order by ready_at desc, seq desc"),
  claimTried: claiming("tried = 1 and ready_at <= ?6 order by ready_at, seq"),
  release: `
    update events set claimed_by = null, pulse = null, ready_at = case when tried then ?4 else queued_at end
    where seq = ?1 and id = ?2 and claimed_by = ?3`,
  // What another process has taken over from one that never sent it.
  clear: "update events set interrupted = 0 where seq = ? and id = ? and claimed_by is null",
  rest: `
    update events set claimed_by = null, pulse = null, interrupted = 0, tried = 1, history = ?4, ready_at = ?5
    where seq = ?1 and id = ?2 and claimed_by = ?3`,
  placeOf: "select seq from events where claimed_by = ? and id = ? and destination = ?",
  nextReady: `
    select ready_at from events
    where destination = ? and ready_at is not null and tried = 1 and ready_at > ? order by ready_at limit 1`,
} as const;

export type Claims = ReturnType<typeof createClaims>;

/** Takes events whose turn it is, and gives them back. One that is at the head of its visitor's line has a time at which it is ready. */
export function createClaims(
  db: Database,
  parts: { destinations: Destinations; totals: Totals; lines: Lines; unreadable: Unreadable; owner: string },
) {
  const { destinations, totals, lines, unreadable, owner } = parts;
  const { claimOldest, claimNewest, claimTried, release, clear, rest, placeOf, nextReady } = prepareAll(
    db,
    STATEMENTS,
  );
  /** The destination that was last claimed for: it is for its events that this process waits. */
  let own: string | undefined;
  let more = false;

  /** Claims from one lane, at most `limit`. Leaves `more` behind where not all of its events could be looked at. */
  function claimFrom(lane: Lane, limit: number, destination: number, pulse: number, now: number): EventRow[] {
    const { endpoint, newestFirst, newWithinMs, evenResting } = lane;
    const hasMore = () => lines.hasMore(destination, kindOf(endpoint));
    const rows: EventRow[] = [];
    const missing = () => limit - rows.length;
    const since = newWithinMs === undefined ? 0 : now - newWithinMs;
    const take = () => {
      const found: EventRow[] = newestFirst
        ? claimNewest.all(owner, pulse, destination, endpoint, missing(), since)
        : claimOldest.all(owner, pulse, destination, endpoint, missing());
      rows.push(...found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq)));
    };
    // The newest are the last to line up.
    if (newestFirst) lines.lineUp(LINED_UP_AT_ONCE);
    take();
    for (let time = 0; missing() > 0 && time < TIMES && hasMore(); time++) {
      lines.lineUp(LINED_UP_AT_ONCE);
      take();
    }
    if (missing() > 0 && hasMore()) more = true;
    else if (missing() > 0 && newWithinMs === undefined) {
      const until = evenResting ? FOREVER : now;
      const tried = claimTried.all(owner, pulse, destination, endpoint, missing(), until);
      rows.push(...tried.sort((a, b) => a.seq - b.seq));
    }
    return rows;
  }

  return {
    claim({ destination, limit, lanes }: Capacity, pulse: number, now: number, life: number): DiskClaim[] {
      const claims: DiskClaim[] = [];
      const number = destinations.numberOf(destination);
      own = destination;
      more = false;
      for (const lane of lanes) {
        const most = Math.min(lane.limit, limit - claims.length);
        if (most <= 0 || totals.rows(number, kindOf(lane.endpoint)) === 0) continue;
        const rows = claimFrom(lane, most, number, pulse, now);
        for (const row of rows) {
          const claim = claimOf(row, lane, { destination, owner, life });
          if (claim) claims.push(claim);
          else unreadable.setAside(row.seq, now);
        }
        // What is less urgent waits until it is known what is more urgent.
        if (more && !lane.newestFirst) break;
      }
      return claims;
    },
    /** Gives a claimed event back as it was. Returns whether it was still claimed. */
    release({ seq, id, owner: by, interrupted }: Claimed, now: number): boolean {
      if (release.run(seq, id, by, now).changes > 0) return true;
      return !interrupted && clear.run(seq, id).changes > 0;
    },
    /** Gives a claimed event back after an attempt, to be ready again at `readyAt`. Returns whether it was still claimed. */
    rest({ seq, id, owner: by }: Claimed, history: History, readyAt: number): boolean {
      return rest.run(seq, id, by, JSON.stringify(history), Math.ceil(readyAt)).changes > 0;
    },
    /** Where it is, of what this process has claimed. */
    placeOf: ({ id, destination, owner: by }: Claimed): number | undefined =>
      placeOf.get(by, id, destinations.numberOf(destination))?.seq,
    /** When there may next be something to claim that there was not at the last claim. */
    nextReadyAt(now: number): number | null {
      if (own === undefined) return null;
      return more ? now : (nextReady.get(destinations.numberOf(own), now)?.ready_at ?? null);
    },
  };
}

function claimOf(
  row: EventRow,
  lane: Lane,
  { destination, ...by }: { destination: string; owner: string; life: number },
): DiskClaim | undefined {
  const event = eventOf(row, destination);
  const history = row.history === null ? UNTRIED : (parsedOf(row.history) as History | undefined);
  if (!event || !history) return undefined;
  return {
    event,
    lane,
    history,
    interrupted: row.interrupted === 1,
    queuedAt: row.queued_at,
    seq: row.seq,
    ...by,
  };
}
