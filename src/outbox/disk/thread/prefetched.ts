import { ENDPOINTS, type Endpoint } from "../../../service/endpoints.js";
import type { Capacity, Claim, Lane } from "../../claim.js";

// As many as the host may let be under way: see `delivery.concurrency`.
const CLAIMED_AT_ONCE = 256;
/** A claim prefetches twice as many as the last, or half if something has changed since. */
const FEWEST = 4;
// Measured: a service that answers at once takes so many in about ten milliseconds.
const MOST = 64;
/** The next claim is due when no more than this share is left. */
const LOW = 0.25;

/**
 * Prefetched events are claimed before there is a slot for them, so that the next one is sent as
 * soon as an attempt has ended. They are in the store's order. A change may make that order wrong:
 * then the next pass releases all, and claims anew in the same transaction.
 *
 * @param options.mayGoTwice whether an endpoint's events may be sent twice. Of others, no more are
 * claimed than there are slots: after a kill, it is unknown which of the claimed were sent.
 * @param options.isPaused whether an endpoint gets only probes.
 */
export function createPrefetched<C extends Pick<Claim, "lane">>({
  mayGoTwice,
  isPaused,
}: {
  readonly mayGoTwice: (endpoint: Endpoint) => boolean;
  readonly isPaused: (endpoint: Endpoint) => boolean;
}) {
  /** In the order in which they are sent. */
  let claims: readonly C[] = [];
  /** Endpoints with nothing left in the store since the last claim. */
  let complete: readonly Endpoint[] = [];
  let most = FEWEST;
  let hasChanged = true;

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
    /** The store's order may have changed: no more are sent before the next claim. */
    noteChange(): void {
      hasChanged = true;
    },
    /** Takes out all of them, for the caller to release. */
    takeAll(): readonly C[] {
      const all = claims;
      claims = [];
      return all;
    },
    /** Takes out those that may not be sent twice: no slot was left for them. */
    takeCostly(): readonly C[] {
      const costly = claims.filter(({ lane }) => !mayGoTwice(lane.endpoint));
      if (costly.length === 0) return costly;
      claims = claims.filter((claim) => !costly.includes(claim));
      // When they are released, they may outrank the others.
      hasChanged = true;
      return costly;
    },
    /**
     * What to claim once all are released: for each endpoint as many as it has slots, or its share
     * of prefetched ones if that is more. The limit of the whole claim is high: one lane's
     * prefetched events leave room for the others.
     */
    wanted({ destination, limit, lanes }: Capacity): Capacity {
      most = hasChanged ? Math.max(FEWEST, most / 2) : Math.min(MOST, most * 2);
      hasChanged = false;
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
    add(claimed: readonly C[], { limit, lanes }: Capacity): void {
      claims = claimed;
      const isFull = (lane: Lane) => claimed.filter((claim) => claim.lane === lane).length === lane.limit;
      const open = lanes.filter((lane) => claimed.length === limit || isFull(lane) || !isPlain(lane));
      complete = lanes
        .map(({ endpoint }) => endpoint)
        .filter((endpoint) => open.every((lane) => lane.endpoint !== endpoint));
    },
    /** Takes out what to send now. `isJustClaimed`: no event in the store can outrank it. */
    take({ limit, lanes }: Capacity, isJustClaimed: boolean): readonly C[] {
      if (!isJustClaimed && (hasChanged || !lanes.every(isPlain))) return [];
      const free = new Map(
        ENDPOINTS.map((name) => [name, slotsOf(lanes.filter((lane) => lane.endpoint === name))]),
      );
      const mayBeInStore = ([endpoint, slots]: [Endpoint, number]) =>
        slots > 0 && !complete.includes(endpoint) && !claims.some(({ lane }) => lane.endpoint === endpoint);
      const taken: C[] = [];
      for (const claim of claims) {
        const slots = free.get(claim.lane.endpoint) ?? 0;
        if (slots === 0) continue;
        if (taken.length === limit || (!isJustClaimed && [...free].some(mayBeInStore))) break;
        free.set(claim.lane.endpoint, slots - 1);
        taken.push(claim);
        claims = claims.filter((each) => each !== claim);
      }
      // The order of other lanes is right only now, so the next pass claims anew.
      if (!claims.every(({ lane }) => isPlain(lane))) hasChanged = true;
      return taken;
    },
  };
}

function slotsOf(lanes: readonly Lane[]): number {
  return lanes.reduce((sum, { limit }) => sum + limit, 0);
}

/** Whether its events may be prefetched: oldest first, and time makes no event ineligible. */
function isPlain({ newestFirst, newWithinMs, evenResting }: Lane): boolean {
  return !newestFirst && newWithinMs === undefined && !evenResting;
}
