import { precedenceOfClaim } from "../outbox/claim-steps.js";
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
 * @param options.outranks whether the store may have an event of an endpoint that is more urgent than one that is claimed.
 * @param options.isWell whether the store works. While it does not, nothing goes: what it cannot be asked for may have to go first.
 */
export function createClaimsAhead<C extends Claim>(
  store: Pick<Store<C>, "claim" | "settle">,
  {
    mayGoTwice,
    isPaused,
    outranks,
    isWell,
  }: {
    readonly mayGoTwice: (endpoint: Endpoint) => boolean;
    readonly isPaused: (endpoint: Endpoint) => boolean;
    readonly outranks: (endpoint: Endpoint, claim: C) => boolean;
    readonly isWell: () => boolean;
  },
): ClaimsAhead<C> {
  /** Claimed, and not handed over, in the order in which it goes. */
  let stock: C[] = [];
  /** Endpoints of which the store was last asked, and those of which it may have more. */
  let looked: readonly Endpoint[] = [];
  const unexhausted = new Set<Endpoint>();
  let most = FEWEST;
  let isHeld = false;
  let isStopped = false;

  const isAhead = ({ endpoint, newestFirst, newWithinMs, evenResting }: Lane) =>
    mayGoTwice(endpoint) && !newestFirst && newWithinMs === undefined && !evenResting;
  const stockOf = (endpoint: Endpoint) => stock.filter(({ lane }) => lane.endpoint === endpoint).length;

  /** Whether an event of an endpoint that is not claimed may have to go before one that is, and none of that endpoint goes first. */
  const isFirst = (endpoint: Endpoint) =>
    stock.some((claim) => outranks(endpoint, claim)) &&
    stock.every((claim) => claim.lane.endpoint !== endpoint || outranks(endpoint, claim));
  const isOutranked = (claim: C) => outranks(claim.lane.endpoint, claim);

  /** Whether what is not claimed may have to go before what is. */
  function isBlocked(lanes: readonly Lane[] = []): boolean {
    if (isHeld || !isWell()) return true;
    for (const endpoint of unexhausted) if (stockOf(endpoint) === 0) return true;
    return lanes.some(({ endpoint }) => !looked.includes(endpoint) || isFirst(endpoint));
  }

  function giveBack(isOut: (claim: C) => boolean): boolean {
    const out = stock.filter(isOut);
    if (out.length === 0) return false;
    most = FEWEST;
    stock = stock.filter((claim) => !out.includes(claim));
    for (const claim of out) void store.settle(claim, { type: "release" });
    return true;
  }

  /** Gives back what may not go any more, or only if the store chooses it: each of its lanes is claimed from the store again. */
  function withdraw(lanes: readonly Lane[]): void {
    giveBack((claim) => {
      const own = lanes.filter(({ endpoint }) => endpoint === claim.lane.endpoint);
      const isOut = own.length === 0 ? isPaused(claim.lane.endpoint) : !own.every(isAhead);
      return isOut || isOutranked(claim);
    });
  }

  function take(lanes: readonly Lane[], limit: number): C[] {
    const places = new Map(lanes.filter(isAhead).map((lane) => [lane.endpoint, lane.limit]));
    const taken: C[] = [];
    for (const claim of [...stock]) {
      const { endpoint } = claim.lane;
      const left = places.get(endpoint) ?? 0;
      if (left <= 0 || taken.length >= limit) continue;
      places.set(endpoint, left - 1);
      taken.push(claim);
      stock.splice(stock.indexOf(claim), 1);
      // The next one of that endpoint may have to go before the others.
      if (left > 1 && unexhausted.has(endpoint) && stockOf(endpoint) === 0) break;
    }
    return taken;
  }

  /** What the store is asked for. More than goes at once only where all but the most urgent may be claimed ahead: that one then has its places for certain. */
  function wanted({ destination, limit, lanes }: Capacity): Capacity {
    const isSure = lanes.every((lane, nth) => nth === 0 || isAhead(lane));
    const more = isSure ? Math.max(0, most - stock.length) : 0;
    most = Math.min(2 * most, MOST);
    const closed = ENDPOINTS.filter(
      (name) => stockOf(name) > 0 && lanes.every(({ endpoint }) => endpoint !== name),
    );
    // Also of those that have enough, or no place: the store then says whether something is more urgent.
    const asked = [...lanes, ...closed.map((endpoint) => ({ endpoint, limit: 0 }))].map((lane) => {
      if (!isAhead(lane)) return { ...lane, limit: Math.min(lane.limit, limit) };
      const missing = lane.limit - stockOf(lane.endpoint);
      return { ...lane, limit: missing > 0 ? missing + more : 0 };
    });
    return { destination, limit: limit + more, lanes: asked };
  }

  /** Claims from the store. Returns what goes at once. */
  async function ask(capacity: Capacity): Promise<readonly C[]> {
    const asked = wanted(capacity);
    isHeld = false;
    looked = asked.lanes.map(({ endpoint }) => endpoint);
    const claimed = await store.claim(asked);
    for (const lane of asked.lanes) {
      const isLess = claimed.filter((claim) => claim.lane === lane).length < lane.limit;
      if (isLess && claimed.length < asked.limit) unexhausted.delete(lane.endpoint);
      else if (lane.limit > 0) unexhausted.add(lane.endpoint);
    }
    if (isStopped) return claimed;
    stock = [...stock, ...claimed.filter(({ lane }) => isAhead(lane))].sort(inOrder);
    return claimed.filter(({ lane }) => !isAhead(lane));
  }

  return {
    get isFlowing() {
      return stock.length > 0 && !isBlocked();
    },
    hold() {
      isHeld = true;
    },
    async claim(capacity) {
      withdraw(capacity.lanes);
      let first = await ask(capacity);
      const { lanes, limit } = capacity;
      if (!isStopped && giveBack(isOutranked)) {
        const ahead = { ...capacity, limit: limit - first.length, lanes: lanes.filter(isAhead) };
        first = [...first, ...(await ask(ahead))];
      }
      return isWell() && !isStopped ? [...first, ...take(lanes, limit - first.length)] : first;
    },
    next(capacity) {
      if (stock.length === 0) return [];
      const { limit, lanes } = capacity();
      withdraw(lanes);
      return isBlocked(lanes) ? [] : take(lanes, limit);
    },
    giveBack() {
      isStopped = true;
      return stock.splice(0);
    },
    settle(claim, verdict) {
      // It may have to go again before what is claimed.
      if (verdict.type === "release") isHeld = true;
      return store.settle(claim, verdict);
    },
  };
}

function inOrder(one: Claim, other: Claim): number {
  return (
    precedenceOfClaim(other) - precedenceOfClaim(one) ||
    ENDPOINTS.indexOf(one.lane.endpoint) - ENDPOINTS.indexOf(other.lane.endpoint)
  );
}
