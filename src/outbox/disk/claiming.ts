import type { OutboxEvent } from "../../events.js";
import { type Endpoint, endpointOf, kindOf } from "../../service/endpoints.js";
import { objectFromJson } from "../../shared/json.js";
import { type ClaimStep, claimStepsOf, precedenceOf } from "../claim-steps.js";
import { type Capacity, type History, type Lane, UNTRIED } from "../outbox.js";
import type { ClaimedOnArrival, ClaimOwners } from "./claim-owners.js";
import { createLaneClaims, type Row } from "./lane-claims.js";
import type { DiskClaim } from "./protocol.js";
import { eventFromRow } from "./rows.js";
import type { Database } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";
import type { VisitorQueues } from "./visitor-queues.js";

/** One claim, of events in the file and of events appended in the same transaction. */
export type Claiming = ReturnType<ReturnType<typeof createClaiming>>;

/**
 * Begins a claim: claims events in the file, and says which events of the same transaction may be stored as claimed. These are
 * written once and not twice.
 */
export function createClaiming(
  db: Database,
  parts: {
    state: State;
    totals: Totals;
    owners: ClaimOwners;
    queues: VisitorQueues;
    unreadable: Unreadable;
    owner: string;
    hasTried: (destination: number) => boolean;
  },
) {
  const { state, totals, owners, queues, unreadable, owner } = parts;
  const fromLane = createLaneClaims(db, parts);

  /** @param about `coming`: how many are coming, by endpoint. */
  return (
    { destination: name, limit, lanes }: Capacity,
    about: {
      destination: number;
      coming: ReadonlyMap<Endpoint, number>;
      heartbeat: number;
      leaseEpoch: number;
      now: number;
    },
  ) => {
    const { destination, coming, heartbeat, leaseEpoch, now } = about;
    // If this number grows later, an event claimed before may be more urgent than these.
    const by = { owner, leaseEpoch, raises: state.raises };
    const steps = claimStepsOf(lanes);
    const claims: { readonly step: ClaimStep; readonly claim: DiskClaim }[] = [];
    /** How many events each step may claim on arrival. */
    const shares: { readonly step: ClaimStep; left: number }[] = [];
    let free = limit;
    let more = false;
    /** How many events of this transaction may make others more urgent. */
    let lending = [...coming].reduce((sum, [endpoint, each]) => sum + (endpoint === "click" ? 0 : each), 0);
    /** By endpoint, the precedence of the first step that leaves an event. */
    const remaining: Partial<Record<Endpoint, number>> = {};

    function add(step: ClaimStep, rows: readonly Row[]): void {
      const { urgency, place } = step;
      free -= rows.length;
      place.left -= rows.length;
      for (const row of rows) {
        const claim = claimOf(row, { destination: name, lane: place.lane, urgency, ...by });
        if (claim) claims.push({ step, claim });
        else unreadable.setAside(row.seq, now);
      }
    }

    /** Returns whether all events are known that go before the next step. */
    function take(step: ClaimStep): boolean {
      const { urgency, which, place } = step;
      const { endpoint } = place.lane;
      const most = () => Math.min(place.left, free);
      const isOfKind = kindOf(endpoint) === urgency;
      if (which !== "untried") {
        if (most() > 0)
          add(step, fromLane.claimTried(place.lane, urgency, most(), { ...about, even: which }));
        else if (which === "rested" && fromLane.isAnyRested(place.lane, urgency, about))
          remaining[endpoint] ??= precedenceOf(urgency, which);
        return true;
      }
      if (totals.rows(destination, kindOf(endpoint)) > 0) {
        if (free > 0 && (most() > 0 || !isOfKind)) {
          const { rows, hasMore } = fromLane.claimUntried(place.lane, urgency, most(), about);
          add(step, rows);
          if (hasMore) return false;
        }
        if (most() <= 0 && (isOfKind || fromLane.isAnyUntried(place.lane, urgency, about)))
          remaining[endpoint] ??= precedenceOf(urgency, which);
      }
      const waiting = isOfKind ? Math.min(most(), coming.get(endpoint) ?? 0) : 0;
      if (waiting <= 0) return true;
      // Which of them are new enough, or the newest, the next claim finds out.
      if (place.lane.newestFirst || place.lane.newWithinMs !== undefined) more = true;
      else {
        shares.push({ step, left: waiting });
        free -= waiting;
        place.left -= waiting;
      }
      return true;
    }

    // A step waits until all more urgent events are known. Resting events wait until no others are left.
    const isKnown = steps.every((step) => (step.which === "resting" && more) || take(step));
    more ||= !isKnown;

    return {
      /** Whether there may be events that could not be looked at. */
      get hasMore() {
        return more;
      },
      /** The lane in which an event that is stored now may be claimed. */
      laneFor(event: OutboxEvent): Lane | undefined {
        if (event.destination !== name) return undefined;
        const endpoint = endpointOf(event);
        return shares.find(({ left, step }) => left > 0 && step.place.lane.endpoint === endpoint)?.step.place
          .lane;
      },
      /** Claims an event that was just stored. */
      add(event: OutboxEvent, lane: Lane, direct: ClaimedOnArrival): void {
        const share = shares.find(({ step }) => step.place.lane === lane) as (typeof shares)[number];
        share.left--;
        const { kind: urgency, createdAt: queuedAt } = event;
        if (urgency !== "click") lending--;
        owners.addOnArrival(direct, { owner, heartbeat });
        const { seq } = direct;
        const claim = { event, lane, urgency, history: UNTRIED, interrupted: false, queuedAt, seq, ...by };
        claims.push({ step: share.step, claim });
      },
      /** All that were claimed, the most urgent first. */
      end(): DiskClaim[] {
        // Unused slots remain, so look again.
        if (lending > 0 || shares.some(({ left }) => left > 0)) more = true;
        queues.waiting = remaining;
        const nth = new Map(steps.map((step, at) => [step, at]));
        if (shares.length > 0)
          claims.sort((one, other) => (nth.get(one.step) ?? 0) - (nth.get(other.step) ?? 0));
        return claims.map(({ claim }) => claim);
      },
    };
  };
}

function claimOf(
  { id, seq, data, created_at, queued_at: queuedAt, history: json, interrupted }: Row,
  claim: Pick<DiskClaim, "lane" | "urgency" | "owner" | "leaseEpoch" | "raises"> & { destination: string },
): DiskClaim | undefined {
  const { destination, ...by } = claim;
  const event = eventFromRow({ id, kind: kindOf(by.lane.endpoint), data, created_at }, destination);
  const history = json === null ? UNTRIED : (objectFromJson(json) as History | undefined);
  if (!event || !history) return undefined;
  return { event, history, interrupted: interrupted === 1, queuedAt, seq, ...by };
}
