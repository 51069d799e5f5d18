import type { OutboxEvent } from "../../events.js";
import { type Endpoint, endpointOf, kindOf } from "../../service/endpoints.js";
import { type ClaimStep, claimStepsOf, precedenceOf } from "../claim-steps.js";
import { type Capacity, type History, type Lane, UNTRIED } from "../outbox.js";
import type { Direct, Holdings } from "./holdings.js";
import { createLaneClaims, type Row } from "./lane-claims.js";
import type { Lines } from "./lines.js";
import type { DiskClaim } from "./protocol.js";
import { eventOf, parsedOf } from "./rows.js";
import type { Database } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

/** One claim: of what is in the file, and of what comes in the same transaction. */
export type Claiming = ReturnType<ReturnType<typeof createClaiming>>;

/**
 * What begins a claim: it claims events that are in the file, and says which of those that come in the same transaction may be
 * stored as claimed. Those are marked once and not twice.
 */
export function createClaiming(
  db: Database,
  parts: {
    state: State;
    totals: Totals;
    holdings: Holdings;
    lines: Lines;
    unreadable: Unreadable;
    owner: string;
    hasTried: (destination: number) => boolean;
  },
) {
  const { state, totals, holdings, lines, unreadable, owner } = parts;
  const fromLane = createLaneClaims(db, parts);

  /** @param about `coming`: how many are coming, by endpoint. */
  return (
    { destination: name, limit, lanes }: Capacity,
    about: {
      destination: number;
      coming: ReadonlyMap<Endpoint, number>;
      pulse: number;
      life: number;
      now: number;
    },
  ) => {
    const { destination, coming, pulse, life, now } = about;
    // Where it rises meanwhile, one that was claimed before may be more urgent than these.
    const by = { owner, life, raises: state.raises };
    const steps = claimStepsOf(lanes);
    const claims: { readonly step: ClaimStep; readonly claim: DiskClaim }[] = [];
    /** Steps of which events may be claimed that come, and how many. */
    const shares: { readonly step: ClaimStep; left: number }[] = [];
    let free = limit;
    let more = false;
    /** How many are coming that may make others more urgent. */
    let lending = [...coming].reduce((sum, [endpoint, each]) => sum + (endpoint === "click" ? 0 : each), 0);
    /** What is left, in the order of the steps: the first of each endpoint counts. */
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

    /** Returns whether it is known what comes before the next step. */
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

    // What is less urgent waits until it is known what is more urgent, and what rests until no other is left.
    const isKnown = steps.every((step) => (step.which === "resting" && more) || take(step));
    more ||= !isKnown;

    return {
      /** Whether there may be something to claim that could not be looked at. */
      get hasMore() {
        return more;
      },
      /** The lane from which an event may be claimed that is stored now. */
      laneFor(event: OutboxEvent): Lane | undefined {
        if (event.destination !== name) return undefined;
        const endpoint = endpointOf(event);
        return shares.find(({ left, step }) => left > 0 && step.place.lane.endpoint === endpoint)?.step.place
          .lane;
      },
      /** It was stored, and is claimed. */
      add(event: OutboxEvent, lane: Lane, direct: Direct): void {
        const share = shares.find(({ step }) => step.place.lane === lane) as (typeof shares)[number];
        share.left--;
        const { kind: urgency, createdAt: queuedAt } = event;
        if (urgency !== "click") lending--;
        holdings.addDirect(direct, { owner, pulse });
        const { seq } = direct;
        const claim = { event, lane, urgency, history: UNTRIED, interrupted: false, queuedAt, seq, ...by };
        claims.push({ step: share.step, claim });
      },
      /** All that were claimed, the most urgent first. */
      end(): DiskClaim[] {
        // What was kept free for events that could not be claimed at once is theirs, or another's.
        if (lending > 0 || shares.some(({ left }) => left > 0)) more = true;
        lines.waiting = remaining;
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
  claim: Pick<DiskClaim, "lane" | "urgency" | "owner" | "life" | "raises"> & { destination: string },
): DiskClaim | undefined {
  const { destination, ...by } = claim;
  const event = eventOf({ id, kind: kindOf(by.lane.endpoint), data, created_at }, destination);
  const history = json === null ? UNTRIED : (parsedOf(json) as History | undefined);
  if (!event || !history) return undefined;
  return { event, history, interrupted: interrupted === 1, queuedAt, seq, ...by };
}
