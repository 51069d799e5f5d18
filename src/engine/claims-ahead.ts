import type { Capacity, Claim, Lane } from "../outbox/outbox.js";
import type { Store } from "../outbox/relay.js";
import { ENDPOINTS, type Endpoint } from "../service/endpoints.js";

/** A store of which more is claimed than goes at once. */
export interface ClaimsAhead<C extends Claim> extends Required<Store<C>> {
  /** Whether what goes next is claimed already, and nothing that is not may be more urgent. */
  readonly isFlowing: boolean;
  /** Something may be more urgent: the store is asked before anything goes that is claimed already. */
  hold(): void;
}

/** How many more, in all. A service that answers at once has taken them within some ten milliseconds. */
const MOST = 64;

/**
 * Claims more than goes at once of the events that may be sent twice: each that follows another waits for no transaction. It does
 * no harm that who takes over from a killed process cannot tell which of them it has sent. What may be sent once alone is claimed
 * when it goes.
 *
 * @param options.mayGoTwice whether an endpoint's events may be sent twice.
 * @param options.isPaused whether nothing but trials is sent to an endpoint.
 * @param options.isWell whether the store works. While it does not, nothing goes: what it cannot be asked for may have to go first.
 */
export function createClaimsAhead<C extends Claim>(
  store: Pick<Store<C>, "claim" | "settle">,
  {
    mayGoTwice,
    isPaused,
    isWell,
  }: {
    readonly mayGoTwice: (endpoint: Endpoint) => boolean;
    readonly isPaused: (endpoint: Endpoint) => boolean;
    readonly isWell: () => boolean;
  },
): ClaimsAhead<C> {
  /** Claimed, and not handed over, by endpoint. */
  const stock = new Map<Endpoint, C[]>();
  /** Endpoints of which the store may have more. */
  const unexhausted = new Set<Endpoint>();
  let isHeld = false;
  let hasLeft = false;

  const isAhead = ({ endpoint, newestFirst, newWithinMs, evenResting }: Lane) =>
    mayGoTwice(endpoint) && !newestFirst && newWithinMs === undefined && !evenResting;
  const stockOf = (endpoint: Endpoint) => stock.get(endpoint)?.length ?? 0;
  const isEmpty = () => ENDPOINTS.every((endpoint) => stockOf(endpoint) === 0);

  /** Whether what is not claimed may have to go before what is. */
  function isBlocked(): boolean {
    if (isHeld || !isWell()) return true;
    for (const endpoint of unexhausted) if (stockOf(endpoint) === 0) return true;
    return false;
  }

  function keep(claim: C): void {
    const { endpoint } = claim.lane;
    const claims = stock.get(endpoint);
    if (claims) claims.push(claim);
    else stock.set(endpoint, [claim]);
  }

  /** What goes only if its endpoint lets it: delivery gives back the rest. */
  function withdraw(lanes: readonly Lane[]): C[] {
    const withdrawn: C[] = [];
    for (const [endpoint, claims] of stock) {
      if (claims.length === 0) continue;
      const own = lanes.filter((lane) => lane.endpoint === endpoint);
      const isOut = own.length === 0 ? isPaused(endpoint) : !own.every(isAhead);
      if (isOut) withdrawn.push(...claims.splice(0));
    }
    return withdrawn;
  }

  function take(lanes: readonly Lane[], limit: number): C[] {
    const taken: C[] = [];
    for (const lane of lanes) {
      const most = Math.min(lane.limit, limit - taken.length);
      const claims = stock.get(lane.endpoint);
      if (claims && most > 0 && isAhead(lane)) taken.push(...claims.splice(0, most));
    }
    return taken;
  }

  /** What the store is asked for. More than goes at once only where all that goes first is of one lane: it has a place for certain. */
  function wanted({ destination, limit, lanes }: Capacity): Capacity {
    const more = lanes.filter((lane) => !isAhead(lane)).length > 1 ? 0 : MOST;
    const asked = lanes.flatMap((lane) => {
      if (!isAhead(lane)) return { ...lane, limit: Math.min(lane.limit, limit) };
      const missing = lane.limit - stockOf(lane.endpoint);
      return missing > 0 ? { ...lane, limit: missing + more } : [];
    });
    return { destination, limit: limit + more, lanes: asked };
  }

  return {
    get isFlowing() {
      return !isEmpty() && !isBlocked();
    },
    hold() {
      isHeld = true;
    },
    async claim(capacity) {
      const withdrawn = withdraw(capacity.lanes);
      const asked = wanted(capacity);
      isHeld = false;
      const claimed = asked.lanes.length > 0 ? await store.claim(asked) : [];
      for (const lane of asked.lanes) {
        if (claimed.filter((claim) => claim.lane === lane).length < lane.limit)
          unexhausted.delete(lane.endpoint);
        else unexhausted.add(lane.endpoint);
      }
      if (hasLeft) return [...withdrawn, ...claimed];
      const first = claimed.filter(({ lane }) => !isAhead(lane));
      for (const claim of claimed) if (isAhead(claim.lane)) keep(claim);
      const others = isWell() ? take(capacity.lanes, capacity.limit - first.length) : [];
      return [...withdrawn, ...first, ...others];
    },
    next(capacity) {
      if (isEmpty()) return [];
      const { limit, lanes } = capacity();
      const withdrawn = withdraw(lanes);
      return isBlocked() ? withdrawn : [...withdrawn, ...take(lanes, limit)];
    },
    leave() {
      hasLeft = true;
      return [...stock.values()].flatMap((claims) => claims.splice(0));
    },
    settle: store.settle,
  };
}
