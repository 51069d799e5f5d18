import { precedenceOfClaim } from "../outbox/claim-steps.js";
import type { Capacity, Claim, Lane } from "../outbox/outbox.js";
import type { ClaimSource } from "../outbox/relay.js";
import { ENDPOINTS, type Endpoint } from "../service/endpoints.js";

/** A store that events are claimed from before there is a slot for them. */
export interface Prefetch<C extends Claim> extends Required<ClaimSource<C>> {
  /** The next event is prefetched, and no other event can outrank it. */
  readonly isNextPrefetched: boolean;
  /** Something may be more urgent: asks the store before the next prefetched event is sent. */
  askStoreFirst(): void;
}

/** How many events are prefetched: few at first, and after some had to be released; twice as many with each claim. */
const FEWEST_AHEAD = 4;
// A service that answers at once takes them within some ten milliseconds.
const MOST_AHEAD = 64;

/**
 * Prefetches clicks and registrations, so that the next one waits for no transaction. After a kill, another process cannot tell
 * which of them were sent; they may be sent twice. Payments, which may not, are claimed one by one.
 *
 * @param store in one tick it settles before it claims; `settle` does not reject.
 * @param options.mayGoTwice whether an endpoint's events may be sent twice.
 * @param options.isPaused whether nothing but trials is sent to an endpoint.
 * @param options.outranks whether the store may have an event of an endpoint that is more urgent than a claimed one.
 * @param options.isWell whether the store works. While the store fails, nothing is sent: a more urgent event may be in it.
 */
export function createPrefetch<C extends Claim>(
  store: Pick<ClaimSource<C>, "claim" | "settle">,
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
): Prefetch<C> {
  /** Claimed and not yet sent, in the order in which they are sent. */
  let prefetched: C[] = [];
  /** Endpoints that the store was last asked for, and those that it may have more events of. */
  let lastAsked: readonly Endpoint[] = [];
  const maybeMore = new Set<Endpoint>();
  let most = FEWEST_AHEAD;
  let mustAskStore = false;
  let isStopped = false;

  const mayPrefetch = ({ endpoint, newestFirst, newWithinMs, evenResting }: Lane) =>
    mayGoTwice(endpoint) && !newestFirst && newWithinMs === undefined && !evenResting;
  const countOf = (endpoint: Endpoint) => prefetched.filter(({ lane }) => lane.endpoint === endpoint).length;

  /** Whether the store may have an event of this endpoint that outranks a prefetched one, and no prefetched event of this endpoint goes first. */
  const isFirst = (endpoint: Endpoint) =>
    prefetched.some((claim) => outranks(endpoint, claim)) &&
    prefetched.every((claim) => claim.lane.endpoint !== endpoint || outranks(endpoint, claim));
  const isOutranked = (claim: C) => outranks(claim.lane.endpoint, claim);

  /** Whether an event in the store may have to go before the prefetched ones. */
  function isBlocked(lanes: readonly Lane[] = []): boolean {
    if (mustAskStore || !isWell()) return true;
    for (const endpoint of maybeMore) if (countOf(endpoint) === 0) return true;
    return lanes.some(({ endpoint }) => !lastAsked.includes(endpoint) || isFirst(endpoint));
  }

  function release(isUnfit: (claim: C) => boolean): boolean {
    const out = prefetched.filter(isUnfit);
    if (out.length === 0) return false;
    most = FEWEST_AHEAD;
    prefetched = prefetched.filter((claim) => !out.includes(claim));
    for (const claim of out) void store.settle(claim, { type: "release" });
    return true;
  }

  /** Releases those that are to be sent at once if prefetched ones, which are more urgent, need all slots. Returns the others. */
  function withoutOutranked(first: readonly C[], { lanes, limit }: Capacity): readonly C[] {
    const rivals = lanes.flatMap(({ endpoint, limit: left }) =>
      prefetched.filter(({ lane }) => lane.endpoint === endpoint).slice(0, left),
    );
    const next = new Set([...first, ...rivals].sort(byPrecedence).slice(0, limit));
    for (const claim of first) {
      if (next.has(claim)) continue;
      maybeMore.add(claim.lane.endpoint);
      void store.settle(claim, { type: "release" });
    }
    return first.filter((claim) => next.has(claim));
  }

  /** Releases prefetched events whose lane closed or changed its order. */
  function releaseUnfit(lanes: readonly Lane[]): void {
    release((claim) => {
      const own = lanes.filter(({ endpoint }) => endpoint === claim.lane.endpoint);
      const isOut = own.length === 0 ? isPaused(claim.lane.endpoint) : !own.every(mayPrefetch);
      return isOut || isOutranked(claim);
    });
  }

  function take(lanes: readonly Lane[], limit: number): C[] {
    const limits = new Map(lanes.filter(mayPrefetch).map((lane) => [lane.endpoint, lane.limit]));
    const taken: C[] = [];
    for (const claim of [...prefetched]) {
      const { endpoint } = claim.lane;
      const left = limits.get(endpoint) ?? 0;
      if (left <= 0 || taken.length >= limit) continue;
      limits.set(endpoint, left - 1);
      taken.push(claim);
      prefetched.splice(prefetched.indexOf(claim), 1);
      // The store may have one of that endpoint that goes before the others.
      const mayHaveMore = maybeMore.has(endpoint) || prefetched.some((other) => outranks(endpoint, other));
      if (left > 1 && countOf(endpoint) === 0 && mayHaveMore) break;
    }
    return taken;
  }

  /** What the store is asked for. It prefetches only if the first lane cannot be starved, that is, if all other lanes may be prefetched. */
  function wanted({ destination, limit, lanes }: Capacity): Capacity {
    const isSure = lanes.every((lane, nth) => nth === 0 || mayPrefetch(lane));
    const more = isSure ? Math.max(0, most - prefetched.length) : 0;
    most = Math.min(2 * most, MOST_AHEAD);
    const closed = ENDPOINTS.filter(
      (name) => countOf(name) > 0 && lanes.every(({ endpoint }) => endpoint !== name),
    );
    // Lanes that have enough, or no slot, are asked for too: the store then says whether something is more urgent.
    const asked = [...lanes, ...closed.map((endpoint) => ({ endpoint, limit: 0 }))].map((lane) => {
      if (!mayPrefetch(lane)) return { ...lane, limit: Math.min(lane.limit, limit) };
      const missing = lane.limit - countOf(lane.endpoint);
      return { ...lane, limit: missing > 0 ? missing + more : 0 };
    });
    return { destination, limit: limit + more, lanes: asked };
  }

  /** Claims from the store. Returns what is to be sent at once. */
  async function ask(capacity: Capacity): Promise<readonly C[]> {
    const asked = wanted(capacity);
    mustAskStore = false;
    lastAsked = asked.lanes.map(({ endpoint }) => endpoint);
    const claimed = await store.claim(asked);
    for (const lane of asked.lanes) {
      const isLess = claimed.filter((claim) => claim.lane === lane).length < lane.limit;
      if (isLess && claimed.length < asked.limit) maybeMore.delete(lane.endpoint);
      else if (lane.limit > 0) maybeMore.add(lane.endpoint);
    }
    if (isStopped) return claimed;
    prefetched = [...prefetched, ...claimed.filter(({ lane }) => mayPrefetch(lane))].sort(inOrder);
    return claimed.filter(({ lane }) => !mayPrefetch(lane));
  }

  return {
    get isNextPrefetched() {
      return prefetched.length > 0 && !isBlocked();
    },
    askStoreFirst() {
      mustAskStore = true;
    },
    async claim(capacity) {
      releaseUnfit(capacity.lanes);
      let first = await ask(capacity);
      const { lanes, limit } = capacity;
      if (!isStopped && release(isOutranked)) {
        const ahead = { ...capacity, limit: limit - first.length, lanes: lanes.filter(mayPrefetch) };
        first = [...first, ...(await ask(ahead))];
      }
      if (!isWell() || isStopped) return first;
      first = withoutOutranked(first, capacity);
      return [...first, ...take(lanes, limit - first.length)];
    },
    next(capacity) {
      if (prefetched.length === 0) return [];
      const { limit, lanes } = capacity();
      releaseUnfit(lanes);
      return isBlocked(lanes) ? [] : take(lanes, limit);
    },
    takeUnsent() {
      isStopped = true;
      return prefetched.splice(0);
    },
    settle(claim, verdict) {
      // The released event may have to go before the prefetched ones.
      if (verdict.type === "release") mustAskStore = true;
      return store.settle(claim, verdict);
    },
  };
}

function byPrecedence(one: Claim, other: Claim): number {
  return precedenceOfClaim(other) - precedenceOfClaim(one);
}

function inOrder(one: Claim, other: Claim): number {
  return (
    byPrecedence(one, other) || ENDPOINTS.indexOf(one.lane.endpoint) - ENDPOINTS.indexOf(other.lane.endpoint)
  );
}
