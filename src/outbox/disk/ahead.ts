import { ENDPOINTS, type Endpoint } from "../../service/endpoints.js";
import type { Capacity, Lane } from "../outbox.js";
import { CLAIMED_AT_ONCE, type DiskClaim } from "./protocol.js";

/** How many events are claimed ahead in all: half as many after a change, at least the fewest; twice as many after each claim without one. */
const FEWEST = 4;
// A service that answers at once takes them within some ten milliseconds.
const MOST = 64;
/** The share of them that is left when more are claimed. */
const LOW = 0.25;

/**
 * Events that are claimed before there is a slot for them: the next one goes at once when an attempt has ended. They are in the
 * store's order, which holds until something changes. Then all are given back, and claimed anew in the same transaction.
 *
 * @param options.mayGoTwice whether an endpoint's events may be sent twice: after a kill, another process cannot tell which of these
 *   were sent. Of other events, no more are claimed than there are slots.
 * @param options.isPaused whether nothing but trials is sent to an endpoint.
 */
export function createAhead({
  mayGoTwice,
  isPaused,
}: {
  readonly mayGoTwice: (endpoint: Endpoint) => boolean;
  readonly isPaused: (endpoint: Endpoint) => boolean;
}) {
  /** In the order in which they go. */
  let claims: readonly DiskClaim[] = [];
  /** Endpoints of which the last claim has left nothing in the store. */
  let complete: readonly Endpoint[] = [];
  let most = FEWEST;
  let hasChanged = true;

  const isAnyOf = (endpoint: Endpoint) => claims.some(({ lane }) => lane.endpoint === endpoint);

  return {
    get isEmpty(): boolean {
      return claims.length === 0;
    },
    /** Whether more are to be claimed, although all slots are taken. */
    get areFew(): boolean {
      const next = claims[0]?.lane.endpoint;
      return next !== undefined && !complete.includes(next) && claims.length <= most * LOW;
    },
    get hasChanged(): boolean {
      return hasChanged;
    },
    /** Whether some may not go now: their endpoint is paused. */
    get areUnfit(): boolean {
      return claims.some(({ lane }) => isPaused(lane.endpoint));
    },
    /** Something has changed: the store is asked before the next one goes. */
    noteChange(): void {
      hasChanged = true;
    },
    /** Takes out all: to be given back to the store. */
    takeAll(): readonly DiskClaim[] {
      const all = claims;
      claims = [];
      return all;
    },
    /** What to claim once all were given back: for the slots, or ahead, where that is more. No lane takes from what another one may have. */
    wanted({ destination, limit, lanes }: Capacity): Capacity {
      most = hasChanged ? Math.max(FEWEST, most / 2) : Math.min(MOST, most * 2);
      hasChanged = false;
      // In all, no more than `most`.
      const more = ENDPOINTS.filter((endpoint) => mayGoTwice(endpoint) && !complete.includes(endpoint));
      const share = Math.floor(most / more.length);
      const asked = ENDPOINTS.flatMap((endpoint): readonly Lane[] => {
        const own = lanes.filter((lane) => lane.endpoint === endpoint);
        if (!mayGoTwice(endpoint) || !own.every(isPlain))
          return own.map((lane) => ({ ...lane, limit: Math.min(lane.limit, limit) }));
        if (own.length === 0 && isPaused(endpoint)) return [];
        const slots = Math.min(slotsOf(own), limit);
        return [{ endpoint, limit: more.includes(endpoint) ? Math.max(slots, share) : slots }];
      });
      return { destination, limit: CLAIMED_AT_ONCE, lanes: asked };
    },
    /** Takes in what the store has answered. */
    add(claimed: readonly DiskClaim[], { limit, lanes }: Capacity): void {
      claims = claimed;
      const isFull = (lane: Lane) => claimed.filter((claim) => claim.lane === lane).length === lane.limit;
      const open = lanes.filter((lane) => claimed.length === limit || isFull(lane) || !isPlain(lane));
      complete = lanes
        .map(({ endpoint }) => endpoint)
        .filter((endpoint) => open.every((lane) => lane.endpoint !== endpoint));
    },
    /** Takes out what goes now. `isJustClaimed`: nothing in the store goes before them. */
    take({ limit, lanes }: Capacity, isJustClaimed: boolean): readonly DiskClaim[] {
      if (!isJustClaimed && (hasChanged || !lanes.every(isPlain))) return [];
      const free = new Map(
        ENDPOINTS.map((name) => [name, slotsOf(lanes.filter((lane) => lane.endpoint === name))]),
      );
      const mayBeInStore = ([endpoint, slots]: [Endpoint, number]) =>
        slots > 0 && !complete.includes(endpoint) && !isAnyOf(endpoint);
      const taken: DiskClaim[] = [];
      for (const claim of claims) {
        const slots = free.get(claim.lane.endpoint) ?? 0;
        if (slots === 0) continue;
        if (taken.length === limit || (!isJustClaimed && [...free].some(mayBeInStore))) break;
        free.set(claim.lane.endpoint, slots - 1);
        taken.push(claim);
        claims = claims.filter((each) => each !== claim);
      }
      // A lane of another order holds for this moment alone.
      if (!claims.every(({ lane }) => isPlain(lane))) hasChanged = true;
      return taken;
    },
  };
}

function slotsOf(lanes: readonly Lane[]): number {
  return lanes.reduce((sum, { limit }) => sum + limit, 0);
}

/** Whether events of this lane may be claimed ahead: the oldest go first, whenever there is a slot. */
function isPlain({ newestFirst, newWithinMs, evenResting }: Lane): boolean {
  return !newestFirst && newWithinMs === undefined && !evenResting;
}
