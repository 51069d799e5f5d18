import { priorityOf } from "../../../conversion/kinds.js";
import { kindOf } from "../../../service/endpoints.js";
import { objectFromJson } from "../../../shared/json.js";
import { type Capacity, type History, type Lane, UNTRIED } from "../../claim.js";
import { type ClaimStep, claimStepsOf } from "../../claim-steps.js";
import type { Urgency } from "../../urgency.js";
import type { DiskClaim } from "./requests.js";
import { eventFromRow, laneKeyOf, type NewRow } from "./rows.js";
import type { Tables } from "./tables.js";
import type { Upkeep } from "./upkeep.js";

const ENTERED_AT_ONCE = 256;
// After so many rounds, the transaction is long enough, even if all these events have to wait.
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
  nextReady: `
    select ready_at from events
    where destination = ?1 and state = 'tried' and ready_at > ?2 and seq not in (select value from json_each(?3))
    order by ready_at limit 1`,
} as const;

type Row = Pick<
  NewRow,
  "seq" | "id" | "data" | "created_at" | "queued_at" | "history" | "interrupted" | "event"
>;

/** Claims the heads of the visitors' queues. */
export function createClaims({ cache, queues, live }: Tables, upkeep: Upkeep) {
  const { oldest, newest, tried, anyTried, nextReady } = cache.prepare(STATEMENTS);
  /** The destination of the last claim: this process waits for its events. */
  let own: number | undefined;
  let claimedAt = 0;
  /** Whether there may be events that the last claim did not look at. */
  let hasMore = false;

  function hasTried(destination: number): boolean {
    const { totals } = cache.known;
    const notes = queues.notes().anyTried;
    const has = notes.get(destination) ?? (!totals.isEmpty && anyTried.get(destination) !== undefined);
    notes.set(destination, has);
    return has;
  }

  const claimed = () => JSON.stringify(cache.known.claims.seqs());

  /** Claims for one process at one moment. */
  function begin(claimer: ReturnType<Upkeep["renewLease"]>, destination: number, now: number) {
    const { claims } = cache.known;
    const keyOf = ({ endpoint }: Lane, urgency: Urgency) =>
      [destination, endpoint, priorityOf(urgency)] as const;

    function claim(rows: readonly Row[]): readonly Row[] {
      for (const { seq } of rows) claims.add(seq, claimer);
      return rows;
    }

    return {
      /** Claims untried events. `hasMore`: some that may go first could not be looked at. */
      claimUntried(lane: Lane, urgency: Urgency, limit: number): { rows: readonly Row[]; hasMore: boolean } {
        const { endpoint, newestFirst = false, newWithinMs } = lane;
        const rows: Row[] = [];
        const missing = () => limit - rows.length;
        const key = keyOf(lane, urgency);
        const since = newWithinMs === undefined ? 0 : now - newWithinMs;
        // Events of another kind are in a queue because a more urgent one waits behind them.
        const isOfKind = kindOf(endpoint) === urgency;
        const areTaken = isOfKind && !newestFirst && newWithinMs === undefined;
        const take = () => {
          if (missing() <= 0 || queues.notes().withoutReady.has(laneKeyOf(...key))) return;
          const found: Row[] = (newestFirst ? newest : oldest).all(...key, since, claimed(), missing());
          rows.push(...claim(found.sort((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq))));
          if (missing() > 0 && newWithinMs === undefined) queues.notes().withoutReady.add(laneKeyOf(...key));
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
      /** Claims tried events. `resting` means both resting and rested ones. */
      claimTried(lane: Lane, urgency: Urgency, limit: number, which: "rested" | "resting"): readonly Row[] {
        if (!hasTried(destination)) return [];
        const until = which === "resting" ? FOREVER : now;
        const found: Row[] = tried.all(...keyOf(lane, urgency), until, claimed(), limit);
        return claim(found.sort((a, b) => a.seq - b.seq));
      },
    };
  }

  return {
    /** Claims events, the most urgent first. */
    claim({ destination, limit, lanes }: Capacity, now: number): DiskClaim[] {
      const { known } = cache;
      const claimer = upkeep.renewLease();
      const by = { owner: claimer.owner, leaseEpoch: upkeep.leaseEpoch.number };
      const lane = begin(claimer, destination, now);
      const claims: DiskClaim[] = [];
      let isAnySetAside = false;

      function add({ urgency, place }: ClaimStep, rows: readonly Row[]): void {
        place.left -= rows.length;
        for (const row of rows) {
          const claim = claimOf(row, { destination, lane: place.lane, urgency, ...by });
          if (claim) claims.push(claim);
          else {
            live.setAside(row.seq, now);
            isAnySetAside = true;
          }
        }
      }

      /** Returns whether all events that go before the next step are known. */
      function take(step: ClaimStep): boolean {
        const { urgency, which, place } = step;
        const { endpoint } = place.lane;
        const free = limit - claims.length;
        const most = Math.min(place.left, free);
        if (which !== "untried") {
          if (most > 0) add(step, lane.claimTried(place.lane, urgency, most, which));
          return true;
        }
        const isOfKind = kindOf(endpoint) === urgency;
        const mayFind = free > 0 && (most > 0 || !isOfKind);
        if (!mayFind || known.totals.rows(destination, kindOf(endpoint)) === 0) return true;
        const { rows, hasMore } = lane.claimUntried(place.lane, urgency, most);
        add(step, rows);
        return !hasMore;
      }

      own = destination;
      claimedAt = now;
      // A step waits until all more urgent events are known.
      const isComplete = claimStepsOf(lanes).every(take);
      // An unreadable event used up a slot. Another claim may take its visitor's next event.
      hasMore = !isComplete || isAnySetAside;
      return claims;
    },
    /** When a claim may find more than the last one did. */
    nextReadyAt(now: number): number | null {
      if (own === undefined) return null;
      if (hasMore) return now;
      const { claims } = cache.known;
      if (!hasTried(own)) return null;
      const found = nextReady.get(own, Math.min(claimedAt, now), JSON.stringify(claims.seqs()));
      // Perhaps no tried event is left.
      if (!found) queues.notes().anyTried.delete(own);
      return found?.ready_at ?? null;
    },
  };
}

function claimOf(
  row: Row,
  claim: Pick<DiskClaim, "lane" | "urgency" | "owner" | "leaseEpoch"> & { destination: number },
): DiskClaim | undefined {
  const { id, seq, data, created_at, queued_at: queuedAt, history: json, interrupted } = row;
  const { destination, ...by } = claim;
  const event =
    row.event ?? eventFromRow({ id, destination, kind: kindOf(by.lane.endpoint), data, created_at });
  const history = json === null ? UNTRIED : (objectFromJson(json) as History | undefined);
  if (!event || !history) return undefined;
  return { event, history, interrupted: interrupted === 1, queuedAt, seq, ...by };
}
