import { clockOfAllThreads, type Moment, type TwoClocks } from "../../lease.js";
import { createCounts } from "../../queue/counts.js";
import { createEviction } from "../../queue/eviction.js";
import { lastEventsIn } from "../../queue/last-events.js";
import type { QueueClaim } from "../../queue/leases.js";
import { createQueue } from "../../queue/queue.js";
import { Scope } from "../../queue/scope.js";
import { SHARE_OF_DEAD_LETTERS } from "../../shedding.js";
import { createDialect } from "../file/dialect.js";
import { createLogCleaner } from "../file/file.js";
import type { Database as Connection, Problem } from "../file/sqlite.js";
import { createAppends } from "./appends.js";
import { createKnownIds } from "./known-ids.js";
import { copyInto } from "./moved-file.js";
import { createOwners, type Locks } from "./owners.js";
import type { DiskClaim, Dropped, Request, RequestOf, Result, Results, Snapshot } from "./requests.js";
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
    /** Whose events it is about. Default: all. The bytes of the file are everybody's. */
    readonly scope?: Scope;
    /** If a thread of this process has ended: what has no verdict yet. Its attempts go on. */
    readonly inherited?: readonly DiskClaim[] | undefined;
    /** Default: whether other processes have ended is not known. */
    readonly locks?: Locks | undefined;
    readonly onStatement?: (text: string) => void;
  },
) {
  const { maxBytes, maxDeadLetters, rememberMs, leaseMs } = options;
  const { clock = clockOfAllThreads, scope = new Scope(), inherited } = options;
  const database = createDialect(clock.now, options.onStatement);
  const counts = createCounts(() => queue.count(), scope);
  const owners = createOwners(database, { owner, locks: options.locks, destinations });
  const knownIds = createKnownIds(database, maxBytes);
  const maxEventBytes = maxBytes * SHARE_OF_EVENTS;
  let dropped: Dropped[] = [];
  /** How many bytes each new dead letter has. */
  let deaths: number[] = [];
  let file: { readonly db: Connection; readonly log: ReturnType<typeof createLogCleaner> };
  let countAgainAt = Number.NEGATIVE_INFINITY;
  let keptUpAt = Number.NEGATIVE_INFINITY;
  let isFurther = inherited !== undefined;

  const queue = createQueue(database, {
    ...{ leaseMs, rememberMs, counts, scope, clock, worker: owner },
    wake() {},
    onDeath: (bytes) => deaths.push(bytes),
    onShed: (event) => dropped.push({ event, reason: "visitor-full" }),
  });
  for (const claim of inherited ?? [])
    queue.underWay.set(claim.seq, { ...claim, leasedSince: undefined, isHeld: () => false });
  const evict = createEviction({
    ...{ max: maxDeadLetters, maxBytes: maxEventBytes * SHARE_OF_DEAD_LETTERS, counts },
    remove: queue.evictOldest,
    onEvicted: (event) => dropped.push({ event, reason: "dead-letters-full" }),
  });
  const space = createSpace({
    ...{ maxBytes: maxEventBytes, counts, queue },
    onDropped: (each) => dropped.push(each),
  });

  const append = createAppends({ database, queue, space });

  const carryOut: {
    readonly [Type in Exclude<Request["type"], "append" | "settle">]: (
      request: RequestOf<Type>,
    ) => Promise<Results[Type]>;
  } = {
    claim,
    list: ({ query }) => queue.deadLetters.list(query),
    sums: ({ filter }) => queue.deadLetters.sums(filter),
    ids: ({ filter }) => queue.deadLetters.ids(filter),
    retried: ({ filter }) => queue.retried(filter),
    retry: ({ ids }) => queue.retryThese(ids),
    discard: ({ id }) => queue.deadLetters.discard(id),
    cancel: ({ id }) => queue.cancel(id),
    page: ({ after }) => queue.personal.page(after),
    erase: ({ found }) => queue.personal.remove(found),
    count: async () => void (await counts.take()),
    "release all": releaseAll,
    hold: ({ limit }) => queue.holding.hold(limit),
    last: ({ limit }) => lastEventsIn(database, limit),
    unanswered: ({ endpoint }) => queue.unanswered(endpoint),
  };

  /** Its number may be another one by now: that of the file before. */
  function ownClaim({ claimed }: RequestOf<"settle">): QueueClaim {
    const known = [...queue.underWay.values()].find(({ event }) => event.id === claimed.event.id);
    const claim = known ?? { ...claimed, leasedSince: undefined, isHeld: () => false };
    return Object.assign(claim as QueueClaim, claimed.isAsked && { isAsked: true });
  }

  async function settle(asked: readonly RequestOf<"settle">[]): Promise<boolean[]> {
    if (asked.length === 0) return [];
    return queue.settle(asked.map((each) => [ownClaim(each), each.verdict]));
  }

  function destinations(): number[] {
    return [...new Set(counts.rows.map(({ destination }) => destination))];
  }

  async function claim({ capacity }: RequestOf<"claim">): Promise<DiskClaim[]> {
    const claims = await queue.claim(capacity);
    return claims.map(({ isHeld: _, leasedSince: __, ...each }) => each);
  }

  function leases(): Map<string, Moment> {
    const claims = [...queue.underWay.values()];
    return new Map(
      claims.flatMap(({ event, leasedSince }) => (leasedSince ? [[event.id, leasedSince]] : [])),
    );
  }

  async function carryOutAll(requests: readonly Request[]): Promise<Result[]> {
    const results: Result[] = [];
    const numbersOf = (turn: number) =>
      [...requests.keys()].filter((nth) => turnOf(requests[nth] as Request) === turn);
    for (const [turn, together] of [settle, append].entries()) {
      const numbers = numbersOf(turn);
      const outcomes: readonly Result[] = await together(numbers.map((nth) => requests[nth] as never));
      for (const [position, nth] of numbers.entries()) results[nth] = outcomes[position] as Result;
    }
    for (const nth of [...numbersOf(2), ...numbersOf(3)]) {
      const request = requests[nth] as Exclude<Request, { type: "append" | "settle" }>;
      results[nth] = await (carryOut[request.type] as (asked: Request) => Promise<Result>)(request);
    }
    return results;
  }

  /** Scheduled payments become due. */
  async function releaseAll(): Promise<undefined> {
    while (counts.scheduled() > 0 && (await queue.release()) > 0);
  }

  async function countIfDue(): Promise<void> {
    if (clock.monotonic() < countAgainAt) return;
    const began = clock.monotonic();
    await counts.take();
    const took = clock.monotonic() - began;
    countAgainAt = began + Math.max(COUNTED_AT_MOST_EVERY_MS, PAUSE_AFTER_COUNTING * took);
  }

  /** Gives back, untried, what an earlier thread had claimed and the host does not know of. */
  async function takeOn(): Promise<void> {
    await queue.findAgain();
    await queue.giveBackUnknown();
  }

  async function pass(body: () => Promise<readonly Result[]>): Promise<TransactionOutcome> {
    let underWay = new Map(queue.underWay);
    try {
      const outcome = await database.pass(async () => {
        underWay = new Map(queue.underWay);
        [dropped, deaths] = [[], []];
        queue.tellTime(clock.now());
        await countIfDue();
        if (isFurther) await takeOn();
        const results = await body();
        for (const bytes of deaths) await evict(bytes);
        return { results, snapshot: { counts: counts.rows, leases: leases() }, dropped };
      });
      isFurther = false;
      return outcome;
    } catch (error) {
      queue.underWay.clear();
      // Until the next renewal: this one's may be among what was undone.
      for (const [seq, claim] of underWay)
        queue.underWay.set(seq, Object.assign(claim, { leasedSince: undefined }));
      countAgainAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
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
    async copyFrom(lost: Connection): Promise<void> {
      await pass(async () => {
        await copyInto(database, lost);
        await queue.repairAll();
        await queue.findAgain();
        await counts.take();
        return [];
      });
    },
    run: (requests: readonly Request[]): Promise<TransactionOutcome> => pass(() => carryOutAll(requests)),
    /** Called about twice a second. */
    look: (): Promise<TransactionOutcome> =>
      pass(async () => {
        await queue.renew();
        await owners.endKilled();
        await releaseAll();
        return [];
      }),
    /** Forgets, repairs, and empties the log. Called several times in a lease. */
    async lookAfter(): Promise<TransactionOutcome> {
      try {
        const outcome = await pass(async () => {
          await queue.renew();
          await owners.removeLocks();
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
        file.log.clean(counts.rows.every(({ number }) => number === 0));
        return { ...outcome, logBytes: file.log.bytesHeldByReader() };
      } catch (error) {
        owners.forgetWhatWasSeen();
        throw error;
      }
    },
  };
}

/** Verdicts come first, because they free space. Claims come last: they take what is new. */
function turnOf({ type }: Request): number {
  if (type === "claim") return 3;
  return type === "settle" ? 0 : type === "append" ? 1 : 2;
}
