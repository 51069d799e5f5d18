import { priorityOf } from "../../kinds.js";
import { kindOf } from "../../service/endpoints.js";
import { objectFromJson } from "../../shared/json.js";
import { type ClaimStep, claimStepsOf } from "../claim-steps.js";
import { type Capacity, type History, UNTRIED } from "../outbox.js";
import type { Cache } from "./cache.js";
import { createLaneClaims, type Row } from "./lane-claims.js";
import type { LiveEvents } from "./live-events.js";
import type { Claimed, DiskClaim } from "./protocol.js";
import type { Queues } from "./queues.js";
import { eventFromRow, type QueuedRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Upkeep } from "./upkeep.js";

export const STATEMENTS = {
  // An event that was claimed on arrival, and may have become more urgent since.
  enter: `
    update events set state = 'ready', ready_at = case when urgency > ?4 then ?3 else queued_at end
    where seq = ?1 and id = ?2 and state = 'new'`,
  place: "select destination, endpoint, urgency from events where seq = ? and id = ?",
  // Another process has taken the event over, and this one never sent it.
  clear: "update events set interrupted = 0 where seq = ? and id = ?",
  rest: `
    update events set interrupted = 0, state = 'tried', history = ?3, ready_at = ?4 where seq = ?1 and id = ?2`,
  seqOf: `
    select seq from events where seq in (select value from json_each(?)) and id = ? and destination = ?`,
  nextReady: `
    select ready_at from events
    where destination = ?1 and state = 'tried' and ready_at > ?2 and seq not in (select value from json_each(?3))
    order by ready_at limit 1`,
} as const;

export type Claims = ReturnType<typeof createClaims>;

/** Claims the heads of the visitors' queues, and ends claims. */
export function createClaims(
  db: Database,
  { cache, queues, live, upkeep }: { cache: Cache; queues: Queues; live: LiveEvents; upkeep: Upkeep },
) {
  const { enter, place, clear, rest, seqOf, nextReady } = prepareAll(db, STATEMENTS);
  const laneClaims = createLaneClaims(db, cache, queues);
  /** The destination of the last claim: this process waits for its events. */
  let own: number | undefined;
  /** The time of the last claim. */
  let claimedAt = 0;
  /** Whether there may be events that the last claim could not look at. */
  let hasMore = false;

  return {
    /** Claims events, the most urgent first. */
    claim({ destination, limit, lanes }: Capacity, now: number): DiskClaim[] {
      const { known } = cache;
      const claimer = upkeep.renewLease();
      const by = { owner: claimer.owner, leaseEpoch: upkeep.leaseEpoch.number };
      const lane = laneClaims.begin(claimer, destination, now);
      const claims: DiskClaim[] = [];
      let isAnySetAside = false;
      const free = () => limit - claims.length;

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

      /** Returns whether all events are known that go before the next step. */
      function take(step: ClaimStep): boolean {
        const { urgency, which, place } = step;
        const { endpoint } = place.lane;
        const most = () => Math.min(place.left, free());
        if (which !== "untried") {
          if (most() > 0) add(step, lane.claimTried(place.lane, urgency, most(), which));
          return true;
        }
        if (known.totals.rows(destination, kindOf(endpoint)) === 0) return true;
        const isOfKind = kindOf(endpoint) === urgency;
        if (free() > 0 && (most() > 0 || !isOfKind)) {
          const { rows, hasMore } = lane.claimUntried(place.lane, urgency, most());
          add(step, rows);
          if (hasMore) return false;
        }
        return true;
      }

      own = destination;
      claimedAt = now;
      // A step waits until all more urgent events are known.
      hasMore = !claimStepsOf(lanes).every(take);
      // An unreadable event used up a slot. Another claim may use the slot, and may take the visitor's next event.
      queues.notes.noteClaimed(isAnySetAside);
      return claims;
    },
    /** Releases a claimed event. Returns whether it was still claimed. */
    release({ seq, id, kind, owner, interrupted }: Claimed, now: number): boolean {
      const { claims } = cache.known;
      const row: Omit<QueuedRow, "seq"> | undefined =
        claims.ownerOf(seq) === owner ? place.get(seq, id) : undefined;
      if (row) {
        if (claims.onArrival(seq)) enter.run(seq, id, now, priorityOf(kind));
        claims.remove(seq);
        queues.noteReady(row);
        return true;
      }
      return !interrupted && claims.ownerOf(seq) === undefined && clear.run(seq, id).changes > 0;
    },
    /** Ends the claim after an attempt; the event is ready again at `readyAt`. Returns whether it was still claimed. */
    rest({ seq, id, destination, owner }: Claimed, history: History, readyAt: number): boolean {
      const { known } = cache;
      if (known.claims.ownerOf(seq) !== owner) return false;
      if (rest.run(seq, id, JSON.stringify(history), Math.ceil(readyAt)).changes === 0) return false;
      known.claims.remove(seq);
      queues.notes.noteTried(destination);
      return true;
    },
    /** The sequence number of an event that this process has claimed. */
    seqOf: ({ id, destination, owner }: Claimed): number | undefined =>
      seqOf.get(JSON.stringify(cache.known.claims.seqs(owner)), id, destination)?.seq,
    /** From when on a claim may find more than the last one did. */
    nextReadyAt(now: number): number | null {
      if (own === undefined) return null;
      if (hasMore) return now;
      const { claims } = cache.known;
      if (!laneClaims.hasTried(own)) return null;
      const found = nextReady.get(own, Math.min(claimedAt, now), JSON.stringify(claims.seqs()));
      // Perhaps none is left.
      if (!found) queues.notes.forgetTried(own);
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
    row.event ?? eventFromRow({ id, kind: kindOf(by.lane.endpoint), data, created_at }, destination);
  const history = json === null ? UNTRIED : (objectFromJson(json) as History | undefined);
  if (!event || !history) return undefined;
  return { event, history, interrupted: interrupted === 1, queuedAt, seq, ...by };
}
