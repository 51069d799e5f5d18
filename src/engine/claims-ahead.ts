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

/** How many more than go at once, in all: few at first, and after some had to be given back; twice as many with each claim. */
const FEWEST = 4;
// A service that answers at once has taken them within some ten milliseconds.
const MOST = 64;

/**
 * Claims more events than go at once of those that may be sent twice: each that follows another waits for no transaction. A process
 * that takes over from a killed one cannot tell which of them were sent, and need not. What may be sent once alone is claimed when it
 * goes.
 *
 * @param store it settles before it claims what it is asked at once, and `settle` does not reject.
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
  let most = FEWEST;
  let isHeld = false;
  let isStopped = false;

  const isAhead = ({ endpoint, newestFirst, newWithinMs, evenResting }: Lane) =>
    mayGoTwice(endpoint) && !newestFirst && newWithinMs === undefined && !evenResting;
  const stockOf = (endpoint: Endpoint) => stock.get(endpoint)?.length ?? 0;
  const inStock = () => ENDPOINTS.reduce((sum, endpoint) => sum + stockOf(endpoint), 0);

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

  /** Gives back what may not go any more, or only if the store chooses it: each of its lanes is claimed from the store again. */
  function withdraw(lanes: readonly Lane[]): void {
    for (const [endpoint, claims] of stock) {
      if (claims.length === 0) continue;
      const own = lanes.filter((lane) => lane.endpoint === endpoint);
      const isOut = own.length === 0 ? isPaused(endpoint) : !own.every(isAhead);
      if (!isOut) continue;
      most = FEWEST;
      for (const claim of claims.splice(0)) void store.settle(claim, { type: "release" });
    }
  }

  function take(lanes: readonly Lane[], limit: number): C[] {
    const taken: C[] = [];
    for (const lane of lanes) {
      const places = Math.min(lane.limit, limit - taken.length);
      const claims = stock.get(lane.endpoint);
      if (claims && places > 0 && isAhead(lane)) taken.push(...claims.splice(0, places));
    }
    return taken;
  }

  /** What the store is asked for. More than goes at once only where all but the most urgent may be claimed ahead: that one then has its places for certain. */
  function wanted({ destination, limit, lanes }: Capacity): Capacity {
    const isSure = lanes.every((lane, nth) => nth === 0 || isAhead(lane));
    const more = isSure ? Math.max(0, most - inStock()) : 0;
    most = Math.min(2 * most, MOST);
    const asked = lanes.flatMap((lane) => {
      if (!isAhead(lane)) return { ...lane, limit: Math.min(lane.limit, limit) };
      const missing = lane.limit - stockOf(lane.endpoint);
      return missing > 0 ? { ...lane, limit: missing + more } : [];
    });
    return { destination, limit: limit + more, lanes: asked };
  }

  return {
    get isFlowing() {
      return inStock() > 0 && !isBlocked();
    },
    hold() {
      isHeld = true;
    },
    async claim(capacity) {
      withdraw(capacity.lanes);
      const asked = wanted(capacity);
      isHeld = false;
      const claimed = asked.lanes.length > 0 ? await store.claim(asked) : [];
      for (const lane of asked.lanes) {
        if (claimed.filter((claim) => claim.lane === lane).length < lane.limit)
          unexhausted.delete(lane.endpoint);
        else unexhausted.add(lane.endpoint);
      }
      if (isStopped) return claimed;
      const first = claimed.filter(({ lane }) => !isAhead(lane));
      for (const claim of claimed) if (isAhead(claim.lane)) keep(claim);
      const others = isWell() ? take(capacity.lanes, capacity.limit - first.length) : [];
      return [...first, ...others];
    },
    next(capacity) {
      if (inStock() === 0) return [];
      const { limit, lanes } = capacity();
      withdraw(lanes);
      return isBlocked() ? [] : take(lanes, limit);
    },
    giveBack() {
      isStopped = true;
      return [...stock.values()].flatMap((claims) => claims.splice(0));
    },
    settle: store.settle,
  };
}
