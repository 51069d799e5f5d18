import type { OutboxEvent } from "../../events.js";
import { type Endpoint, endpointOf, kindOf } from "../../service/endpoints.js";
import { type Capacity, type History, type Lane, UNTRIED } from "../outbox.js";
import { isMoreUrgent, URGENCIES, type Urgency } from "../urgency.js";
import type { Direct, Holdings } from "./holdings.js";
import { createLaneClaims, type Row } from "./lane-claims.js";
import type { Lines } from "./lines.js";
import type { DiskClaim } from "./protocol.js";
import { eventOf, parsedOf, rankOf } from "./rows.js";
import type { Database } from "./sqlite.js";
import type { State } from "./state.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

/** One claim: of what is in the file, and of what comes in the same transaction. */
export type Claiming = ReturnType<ReturnType<typeof createClaiming>>;

/** A lane as it is served. */
interface Turn {
  readonly urgency: Urgency;
  /** How many more, shared by all turns of a lane. */
  readonly place: { readonly lane: Lane; left: number };
}

/** For each urgency in turn all lanes, but those of a more urgent kind. */
function turnsOf(lanes: readonly Lane[]): Turn[] {
  const places = lanes.map((lane) => ({ lane, left: lane.limit }));
  return URGENCIES.flatMap((urgency) =>
    places
      .filter(({ lane }) => !isMoreUrgent(kindOf(lane.endpoint), urgency))
      .map((place) => ({ urgency, place })),
  );
}

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
    const turns = turnsOf(lanes);
    const claims: DiskClaim[] = [];
    /** Turns in which events may be claimed that come, and how many. */
    const shares: (Turn & { left: number })[] = [];
    let free = limit;
    let more = false;
    /** How many are coming that may make others more urgent. */
    let lending = [...coming].reduce((sum, [endpoint, each]) => sum + (endpoint === "click" ? 0 : each), 0);
    const urgent: Partial<Record<Endpoint, number>> = {};

    function add({ urgency, place }: Turn, rows: readonly Row[]): void {
      free -= rows.length;
      place.left -= rows.length;
      for (const row of rows) {
        const by = { owner, life, raises: state.raises };
        const claim = claimOf(row, { destination: name, lane: place.lane, urgency, ...by });
        if (claim) claims.push(claim);
        else unreadable.setAside(row.seq, now);
      }
    }

    /** Returns whether it is known what comes before the next turn. */
    function take(turn: Turn): boolean {
      const { urgency, place } = turn;
      const { endpoint } = place.lane;
      const most = () => Math.min(place.left, free);
      const isOfKind = kindOf(endpoint) === urgency;
      if (totals.rows(destination, kindOf(endpoint)) > 0) {
        if (free > 0 && (most() > 0 || !isOfKind)) {
          const { rows, hasMore } = fromLane.claim(place.lane, urgency, most(), about);
          add(turn, rows);
          if (hasMore) return false;
        }
        if (!isOfKind && most() <= 0 && fromLane.isAnyLeft(place.lane, urgency, about))
          urgent[endpoint] ??= rankOf(urgency);
      }
      const waiting = isOfKind ? Math.min(most(), coming.get(endpoint) ?? 0) : 0;
      if (waiting <= 0) return true;
      // Which of them are new enough, or the newest, the next claim finds out.
      if (place.lane.newestFirst || place.lane.newWithinMs !== undefined) more = true;
      else {
        shares.push({ ...turn, left: waiting });
        free -= waiting;
        place.left -= waiting;
      }
      return true;
    }

    // What is less urgent waits until it is known what is more urgent, and what rests until no other is left.
    more = !turns.every(take) || more;
    for (const turn of more ? [] : turns) {
      const { urgency, place } = turn;
      const most = Math.min(place.left, free);
      if (most > 0 && place.lane.evenResting)
        add(turn, fromLane.claimResting(place.lane, urgency, most, about));
    }

    return {
      /** Whether there may be something to claim that could not be looked at. */
      get hasMore() {
        return more;
      },
      /** The lane from which an event may be claimed that is stored now. */
      laneFor(event: OutboxEvent): Lane | undefined {
        if (event.destination !== name) return undefined;
        const endpoint = endpointOf(event);
        return shares.find(({ left, place }) => left > 0 && place.lane.endpoint === endpoint)?.place.lane;
      },
      /** It was stored, and is claimed. */
      add(event: OutboxEvent, lane: Lane, direct: Direct): void {
        const share = shares.find(({ place }) => place.lane === lane);
        if (share) share.left--;
        const { kind: urgency, createdAt: queuedAt } = event;
        if (urgency !== "click") lending--;
        holdings.addDirect(direct, { owner, pulse });
        const by = { owner, life, raises: state.raises };
        const { seq } = direct;
        claims.push({ event, lane, urgency, history: UNTRIED, interrupted: false, queuedAt, seq, ...by });
      },
      /** All that were claimed, the most urgent first. */
      end(): DiskClaim[] {
        // What was kept free for events that could not be claimed at once is theirs, or another's.
        if (lending > 0 || shares.some(({ left }) => left > 0)) more = true;
        lines.urgent = urgent;
        if (shares.length === 0) return claims;
        return turns.flatMap(({ urgency, place }) =>
          claims.filter((claim) => claim.lane === place.lane && claim.urgency === urgency),
        );
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
