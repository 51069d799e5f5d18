import { ENDPOINTS, type Endpoint } from "../../service/endpoints.js";
import type { Capacity, Lane } from "../outbox.js";
import { CLAIMED_AT_ONCE, type DiskClaim } from "./protocol.js";

/** How many events a claim prefetches: twice as many as the last one, or half as many where something has changed since. */
const FEWEST = 4;
// A service that answers at once takes this many within about ten milliseconds.
const MOST = 64;
/** The next claim is due once no more than this share of them is left. */
const LOW = 0.25;

/**
 * Prefetched events: claimed before there is a slot for them, so that the next one is sent as soon as an attempt has ended. They
 * are in the store's order. After a change that order may be wrong: the next pass then releases all of them, and claims anew in the
 * same transaction.
 *
 * @param options.mayGoTwice whether an endpoint's events may be sent twice. Of other events, a claim asks for no more than there are
 *   slots: after a kill, another process cannot tell which of the claimed events were sent.
 * @param options.isPaused whether nothing but trials is sent to an endpoint.
 */
export function createPrefetched({
  mayGoTwice,
  isPaused,
}: {
  readonly mayGoTwice: (endpoint: Endpoint) => boolean;
  readonly isPaused: (endpoint: Endpoint) => boolean;
}) {
  /** In the order in which they are sent. */
  let claims: readonly DiskClaim[] = [];
  /** Endpoints of which the last claim has left nothing to claim in the store. */
  let complete: readonly Endpoint[] = [];
  let most = FEWEST;
  let hasChanged = true;

  const isAnyOf = (endpoint: Endpoint) => claims.some(({ lane }) => lane.endpoint === endpoint);

  return {
    get isEmpty(): boolean {
      return claims.length === 0;
    },
    /** Whether few are left, and the store may have more. */
    get areFew(): boolean {
      const next = claims[0]?.lane.endpoint;
      return next !== undefined && !complete.includes(next) && claims.length <= most * LOW;
    },
    get hasChanged(): boolean {
      return hasChanged;
    },
    /** Whether some belong to a paused endpoint. */
    get areUnfit(): boolean {
      return claims.some(({ lane }) => isPaused(lane.endpoint));
    },
    /** The store's order may have changed: nothing more is sent before the next claim. */
    noteChange(): void {
      hasChanged = true;
    },
    /** Takes out all of them, for the caller to release. */
    takeAll(): readonly DiskClaim[] {
      const all = claims;
      claims = [];
      return all;
    },
    /** Takes out those that may not be sent twice: no slot was left for them. */
    takeCostly(): readonly DiskClaim[] {
      const costly = claims.filter(({ lane }) => !mayGoTwice(lane.endpoint));
      if (costly.length === 0) return costly;
      claims = claims.filter((claim) => !costly.includes(claim));
      // The next pass releases them. Then they may outrank the others.
      hasChanged = true;
      return costly;
    },
    /**
     * What to claim once all are released: for each endpoint as many as it has slots, or its share of the prefetched ones where
     * that is more. The limit of the whole claim is high, so that the prefetched events of one lane leave room for other lanes.
     */
    wanted({ destination, limit, lanes }: Capacity): Capacity {
      most = hasChanged ? Math.max(FEWEST, most / 2) : Math.min(MOST, most * 2);
      hasChanged = false;
      // All shares together are at most `most`.
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
    /** Keeps the claimed events. */
    add(claimed: readonly DiskClaim[], { limit, lanes }: Capacity): void {
      claims = claimed;
      const isFull = (lane: Lane) => claimed.filter((claim) => claim.lane === lane).length === lane.limit;
      const open = lanes.filter((lane) => claimed.length === limit || isFull(lane) || !isPlain(lane));
      complete = lanes
        .map(({ endpoint }) => endpoint)
        .filter((endpoint) => open.every((lane) => lane.endpoint !== endpoint));
    },
    /** Takes out the events to send now. `isJustClaimed`: no event in the store can outrank them. */
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
      // The order of any other lane is right only now: the next pass claims anew.
      if (!claims.every(({ lane }) => isPlain(lane))) hasChanged = true;
      return taken;
    },
  };
}

function slotsOf(lanes: readonly Lane[]): number {
  return lanes.reduce((sum, { limit }) => sum + limit, 0);
}

/** Whether this lane's events may be prefetched: the oldest go first, and no event ceases to be allowed as time passes. */
function isPlain({ newestFirst, newWithinMs, evenResting }: Lane): boolean {
  return !newestFirst && newWithinMs === undefined && !evenResting;
}
