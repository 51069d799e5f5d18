import type { OutboxEvent } from "../../../conversion/events.js";
import type { Death } from "../../dead-letters.js";
import { clockOfAllThreads, momentBy, type TwoClocks } from "../../lease.js";
import { createCounts } from "../../queue/counts.js";
import { createEviction } from "../../queue/eviction.js";
import { lastEventsIn } from "../../queue/last-events.js";
import { createQueue } from "../../queue/queue.js";
import { SHARE_OF_DEAD_LETTERS } from "../../shedding.js";
import { createDialect } from "../file/dialect.js";
import { createLogCleaner } from "../file/file.js";
import type { Database as Connection, Problem } from "../file/sqlite.js";
import { createAppends } from "./appends.js";
import { createKnownIds } from "./known-ids.js";
import { isStillOwned, type LeaseEpoch } from "./lease-epoch.js";
import { type Copied, copyInto } from "./moved-file.js";
import { createOwners, type Locks } from "./owners.js";
import type { DiskClaim, Dropped, Request, RequestOf, Result, Results, Snapshot } from "./requests.js";
import { createSettlements } from "./settlements.js";
import { createSpace } from "./space.js";

// Of `maxBytes`, dead letters included. The rest is for ids, and for SQLite, also to delete.
const SHARE_OF_EVENTS = 0.7;
const UPKEEP_MS = 60_000;
// Half a thousand ids each: so few that no other request waits for it.
const FORGOTTEN_AT_ONCE = 10;
const COUNTED_AT_MOST_EVERY_MS = 1_000;
// Of a thread's time, to count takes a hundredth at most.
const PAUSE_AFTER_COUNTING = 100;
// Chosen: a MiB is kept for what comes next. 4 MiB a round are given back before a host notices.
const FREE_PAGES_KEPT = 250;
const PAGES_GIVEN_BACK = 1_000;

export interface StoreOptions {
  readonly maxBytes: number;
  readonly maxDeadLetters: number;
  readonly rememberMs: number;
  readonly leaseMs: number;
}

export interface TransactionOutcome {
  readonly results: readonly Result[];
  readonly snapshot: Snapshot;
  readonly dropped: readonly Dropped[];
  readonly problems?: readonly Problem[];
  /** The log's bytes if a reader keeps it long, otherwise 0; absent if it was not looked at. */
  readonly logBytes?: number;
}

export type Store = ReturnType<typeof createStore>;

/**
 * The queue in a file. Runs one transaction at a time: a **pass**, which has all that was asked for.
 * If it rejects, nothing of it has happened. What awaits it yields microtasks alone.
 */
export function createStore(
  owner: string,
  options: StoreOptions & {
    readonly clock?: TwoClocks;
    /** Default: whether other processes have ended is not known. */
    readonly locks?: Locks | undefined;
    readonly onStatement?: (text: string) => void;
  },
) {
  const { maxBytes, maxDeadLetters, rememberMs, leaseMs, clock = clockOfAllThreads } = options;
  const database = createDialect(clock.now, options.onStatement);
  const counts = createCounts(() => queue.count());
  const owners = createOwners(database, { owner, locks: options.locks });
  const knownIds = createKnownIds(database, maxBytes);
  const maxEventBytes = maxBytes * SHARE_OF_EVENTS;
  let dropped: Dropped[] = [];
  let deaths: [OutboxEvent, Death][] = [];
  let epoch: LeaseEpoch = { number: 0, renewedAt: momentBy(clock) };
  /** What it becomes when the pass is stored. */
  let next = epoch;
  let file: { readonly db: Connection; readonly log: ReturnType<typeof createLogCleaner> };
  let countAgainAt = Number.NEGATIVE_INFINITY;
  let keptUpAt = Number.NEGATIVE_INFINITY;

  const queue = createQueue(database, {
    ...{ leaseMs, rememberMs, counts, clock, worker: owner },
    wake() {},
    onDeath: (event, death) => deaths.push([event, death]),
    // A scheduled payment or a dead letter: they are no new clicks.
    onCrowded() {},
  });
  const evict = createEviction({
    ...{ max: maxDeadLetters, maxBytes: maxEventBytes * SHARE_OF_DEAD_LETTERS, counts },
    remove: queue.evictOldest,
    onEvicted: (event) => dropped.push({ event, reason: "dead-letters-full" }),
  });
  const space = createSpace({
    ...{ maxBytes: maxEventBytes, counts, queue },
    onDropped: (each) => dropped.push(each),
  });

  const append = createAppends({
    ...{ database, queue, counts, space, now: clock.now },
    onDropped: (each) => dropped.push(each),
  });
  const settle = createSettlements(queue);

  const carryOut: {
    readonly [Type in Exclude<Request["type"], "append" | "settle">]: (
      request: RequestOf<Type>,
    ) => Promise<Results[Type]>;
  } = {
    claim,
    list: ({ query, destination }) => queue.deadLetters.list(query, destination),
    sums: async ({ filter, destination }) => (await queue.deadLetters.sums?.(filter, destination)) ?? [],
    ids: async ({ filter, destination }) => (await queue.deadLetters.ids?.(filter, destination)) ?? [],
    retried: ({ filter, destination }) => queue.retried(filter, destination),
    "one letter": ({ id, destination }) => queue.lettersWith(id, destination),
    retry: ({ letters }) => queue.retryThese(letters),
    discard: ({ id, destination }) => queue.deadLetters.discard(id, destination),
    cancel: ({ id, destination }) => queue.cancel(id, destination),
    "reported at": ({ id, destination }) => queue.reportedAt(id, destination),
    page: ({ destination, after }) => queue.personal.page(destination, after),
    erase: ({ destination, found }) => queue.personal.remove(destination, found),
    "release all": () => releaseAll(),
    hold: ({ limit }) => queue.holding.hold(limit),
    last: ({ limit }) => lastEventsIn(database, limit),
    circuits: ({ destination }) => queue.circuits.read(destination),
    "replace circuit": (change) => queue.circuits.replace(change),
  };

  async function claim({ capacity }: RequestOf<"claim">): Promise<DiskClaim[]> {
    // After a standstill, another process may have taken over what was claimed before.
    if (!isStillOwned(next.number, next, leaseMs)) await renew();
    const claims = await queue.claimIn(database, capacity);
    return claims.map(({ isHeld: _, leasedSince: __, ...each }) => ({
      ...each,
      ...{ owner, leaseEpoch: next.number },
    }));
  }

  async function renew(): Promise<void> {
    const isTheSame = isStillOwned(next.number, next, leaseMs);
    const renewedAt = momentBy(clock);
    const areHeld = await queue.renew();
    next = { renewedAt, number: isTheSame && areHeld ? next.number : next.number + 1 };
  }

  /** Claims come last: they take what the others have brought. */
  async function carryOutAll(requests: readonly Request[]): Promise<Result[]> {
    const results: Result[] = [];
    const numbersOf = (isMeant: (request: Request) => boolean) =>
      [...requests.keys()].filter((nth) => isMeant(requests[nth] as Request));
    const isSettling = ({ type }: Request) => type === "settle";
    const isAppending = ({ type }: Request) => type === "append";
    const isClaiming = ({ type }: Request) => type === "claim";

    async function together<Type extends Request["type"]>(
      numbers: readonly number[],
      call: (all: readonly RequestOf<Type>[]) => Promise<readonly Result[]>,
    ): Promise<void> {
      const outcomes = await call(numbers.map((nth) => requests[nth] as RequestOf<Type>));
      for (const [position, nth] of numbers.entries()) results[nth] = outcomes[position] as Result;
    }

    // Verdicts first: they free space.
    await together<"settle">(numbersOf(isSettling), settle);
    await together<"append">(numbersOf(isAppending), append);
    const others = numbersOf((each) => !isSettling(each) && !isAppending(each) && !isClaiming(each));
    for (const nth of [...others, ...numbersOf(isClaiming)]) {
      const request = requests[nth] as Exclude<Request, { type: "append" | "settle" }>;
      results[nth] = await (carryOut[request.type] as (asked: Request) => Promise<Result>)(request);
    }
    return results;
  }

  /** Scheduled payments become due. */
  async function releaseAll(): Promise<undefined> {
    for (const destination of counts.destinations)
      while (counts.scheduled(destination) > 0 && (await queue.release(destination)) > 0);
  }

  async function countIfDue(): Promise<void> {
    if (clock.monotonic() < countAgainAt) return;
    const began = clock.monotonic();
    await counts.take();
    const took = clock.monotonic() - began;
    countAgainAt = began + Math.max(COUNTED_AT_MOST_EVERY_MS, PAUSE_AFTER_COUNTING * took);
  }

  async function pass(body: () => Promise<readonly Result[]>): Promise<TransactionOutcome> {
    let underWay = new Map(queue.underWay);
    try {
      const outcome = await database.pass(async () => {
        underWay = new Map(queue.underWay);
        [dropped, deaths, next] = [[], [], epoch];
        queue.tellTime(clock.now());
        await countIfDue();
        const results = await body();
        for (const death of deaths) await evict(...death);
        return { results, snapshot: snapshot(), dropped };
      });
      epoch = next;
      return outcome;
    } catch (error) {
      queue.underWay.clear();
      for (const each of underWay) queue.underWay.set(...each);
      countAgainAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  function snapshot(): Snapshot {
    const of = counts.destinations.map((each) => [each, counts.current(each)] as const);
    return {
      counts: { all: counts.current(undefined), of: Object.fromEntries(of) },
      leaseEpoch: next,
    };
  }

  return {
    /** From here on, it is in this file. */
    use(db: Connection): void {
      database.use(db);
      file = { db, log: createLogCleaner(db) };
      countAgainAt = Number.NEGATIVE_INFINITY;
      owners.forgetWhatWasSeen();
    },
    /** Copies what a file has that is no longer at its path. */
    async copyFrom(lost: Connection): Promise<Copied> {
      let copied: Copied = { events: 0, deadLetters: 0 };
      await pass(async () => {
        copied = await copyInto(database, lost);
        await queue.repairAll();
        await queue.findAgain();
        await counts.take();
        return [];
      });
      return copied;
    },
    run: (requests: readonly Request[]): Promise<TransactionOutcome> => pass(() => carryOutAll(requests)),
    /** Called about twice a second. */
    look: (): Promise<TransactionOutcome> =>
      pass(async () => {
        await renew();
        await owners.endKilled(counts.destinations);
        await releaseAll();
        return [];
      }),
    /** Forgets, repairs, and empties the log. Called several times in a lease. */
    async lookAfter(): Promise<TransactionOutcome> {
      try {
        const outcome = await pass(async () => {
          await renew();
          await owners.removeLocks(counts.destinations);
          await knownIds.forgetExcess();
          if (clock.monotonic() - keptUpAt >= UPKEEP_MS) {
            await queue.upkeep(FORGOTTEN_AT_ONCE);
            keptUpAt = clock.monotonic();
          }
          const { db } = file;
          if (db.prepare("pragma freelist_count").get().freelist_count > FREE_PAGES_KEPT)
            db.exec(`pragma incremental_vacuum(${PAGES_GIVEN_BACK})`);
          return [];
        });
        const { all } = outcome.snapshot.counts;
        file.log.clean(all.queued === 0 && Object.values(all.dead).every((number) => number === 0));
        return { ...outcome, logBytes: file.log.bytesHeldByReader() };
      } catch (error) {
        owners.forgetWhatWasSeen();
        throw error;
      }
    },
  };
}
