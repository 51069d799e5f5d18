import type { OutboxEvent } from "../../../conversion/events.js";
import { type CountRow, createCounts } from "../../queue/counts.js";
import { Scope } from "../../queue/database.js";
import {
  clockOfAllThreads,
  type Moment,
  momentBy,
  type Settled,
  type Settlement,
  type TwoClocks,
} from "../../queue/leases.js";
import { createQueue } from "../../queue/queue.js";
import { SHARE_OF_DEAD_LETTERS } from "../../shedding.js";
import { createDialect } from "../file/dialect.js";
import type { OpenFile } from "../file/file.js";
import type { Database as Connection, Problem } from "../file/sqlite.js";
import { type Call, createSingleCalls, type DiskClaim, type SingleCalls } from "./calls.js";
import { copyInto } from "./moved-file.js";
import { createOwners, type Locks } from "./owners.js";
import { bytesOf, createSpace, type Dropped } from "./space.js";

// Of `maxBytes`, dead letters included. The rest is for ids, and for SQLite, also to delete.
const SHARE_OF_EVENTS = 0.7;
const UPKEEP_MS = 60_000;
// Half a thousand ids each: so few that no other call waits for it.
const FORGOTTEN_AT_ONCE = 10;
const COUNTED_AT_MOST_EVERY_MS = 1_000;
// Of a thread's time, to count takes a hundredth at most.
const PAUSE_AFTER_COUNTING = 100;

export interface StoreOptions {
  readonly maxBytes: number;
  readonly maxDeadLetters: number;
  readonly rememberMs: number;
  readonly leaseMs: number;
  /** If a thread of this process has ended: what has no verdict yet. Its attempts go on. */
  readonly inherited?: readonly DiskClaim[] | undefined;
}

export interface TransactionOutcome {
  /** Of the calls. */
  readonly results: readonly unknown[];
  /** What there is after it, of all client ids. */
  readonly counts: readonly CountRow[];
  /** By a claimed event's id: when the lease or its renewal was asked for; `undefined`: no lease. */
  readonly leases: ReadonlyMap<string, Moment | undefined>;
  readonly dropped: readonly Dropped[];
  /** With the file. */
  readonly problems: readonly Problem[];
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
    /** Default: whether other processes have ended is not known. */
    readonly locks?: Locks | undefined;
    readonly onStatement?: (text: string) => void;
  },
) {
  const { maxBytes, maxDeadLetters, rememberMs, leaseMs } = options;
  const { clock = clockOfAllThreads, scope = new Scope(), inherited } = options;
  const database = createDialect(clock.now, options.onStatement);
  const counts = createCounts(() => queue.count(), scope, bytesOf);
  const destinations = () => [...new Set(counts.rows.map(({ destination }) => destination))];
  const owners = createOwners(database, { owner, locks: options.locks, destinations });
  const maxEventBytes = maxBytes * SHARE_OF_EVENTS;
  let dropped: Dropped[] = [];
  /** When the pass began: from then on, its leases count. */
  let began = momentBy(clock);
  let file: OpenFile;
  let countAgainAt = Number.NEGATIVE_INFINITY;
  let keptUpAt = Number.NEGATIVE_INFINITY;
  let isFurther = inherited !== undefined;

  const queue = createQueue(database, {
    ...{ leaseMs, rememberMs, counts, scope, worker: owner },
    clock: { now: () => began.wall, monotonic: () => began.monotonic },
    wake() {},
    ...{ maxDeadLetters, maxDeadLetterBytes: maxEventBytes * SHARE_OF_DEAD_LETTERS },
    onDropped: (event, reason) => dropped.push({ event, reason }),
  });
  // Until one of them is renewed, nothing of it may leave.
  for (const claim of inherited ?? [])
    queue.underWay.set(claim.seq, { ...claim, leaseAskedAt: undefined, isLeased: () => false });
  const space = createSpace(database, {
    ...{ maxBytes: maxEventBytes, counts, queue },
    onDropped: (loss) => dropped.push(loss),
  });
  const single: SingleCalls = createSingleCalls(database, queue, counts);
  /** What is done for all such calls of a pass together. Verdicts first, because they free space. */
  const together = {
    settle: (all: readonly Settlement[]) =>
      all.length === 0 ? [] : queue.settle(all.map(([claim, verdict]) => [ownClaim(claim), verdict])),
    append: (all: readonly [OutboxEvent][]) => space.append(all.map(([event]) => event)),
  };

  /**
   * The event may have another number by now, in another file. If another process had it meanwhile,
   * and this one has claimed it again, that is another claim: its `dueAt` differs.
   */
  function ownClaim(claim: Settled): Settled {
    const { event, dueAt, seq } = claim;
    const isIt = (claim: Settled | undefined) => claim?.event.id === event.id;
    const here = queue.underWay.get(seq);
    const known = isIt(here) ? here : [...queue.underWay.values()].find(isIt);
    if (known?.dueAt === dueAt) return known;
    return { ...claim, seq: known?.seq ?? seq };
  }

  async function carryOut(calls: readonly Call[]): Promise<unknown[]> {
    const results: unknown[] = [];
    const left = new Set(calls.keys());
    for (const [name, carryOutAll] of Object.entries(together)) {
      const some = [...left].filter((nth) => calls[nth]?.name === name);
      const outcomes = await carryOutAll(some.map((nth) => calls[nth]?.args as never));
      for (const [position, nth] of some.entries()) results[nth] = outcomes[position];
      for (const nth of some) left.delete(nth);
    }
    // Claims come last: they take what is new.
    const isClaim = (nth: number) => Number(calls[nth]?.name === "claim");
    for (const nth of [...left].sort((one, other) => isClaim(one) - isClaim(other))) {
      const { name, args } = calls[nth] as Call;
      results[nth] = await (single[name as keyof SingleCalls] as (...all: unknown[]) => unknown)(...args);
    }
    return results;
  }

  async function countIfDue(): Promise<void> {
    if (clock.monotonic() < countAgainAt) return;
    const began = clock.monotonic();
    await counts.take();
    const took = clock.monotonic() - began;
    countAgainAt = began + Math.max(COUNTED_AT_MOST_EVERY_MS, PAUSE_AFTER_COUNTING * took);
  }

  async function pass(body: () => Promise<unknown>): Promise<TransactionOutcome> {
    let underWay = new Map(queue.underWay);
    try {
      const outcome = await database.pass(async () => {
        began = momentBy(clock);
        underWay = new Map(queue.underWay);
        dropped = [];
        queue.tellTime(clock.now());
        await countIfDue();
        if (isFurther) {
          await queue.findAgain();
          // What an earlier thread had claimed and the host does not know of: untried.
          await queue.giveBackUnknown();
          // If each thread ended before its first look, other processes would take over the claims.
          await queue.renew();
        }
        const results = ((await body()) ?? []) as readonly unknown[];
        const underWayNow = [...queue.underWay.values()];
        const leases = new Map(underWayNow.map(({ event, leaseAskedAt }) => [event.id, leaseAskedAt]));
        return { results, counts: counts.rows, leases, dropped, problems: [] };
      });
      isFurther = false;
      return outcome;
    } catch (error) {
      queue.underWay.clear();
      // Until the next renewal: this one's may be among what was undone.
      for (const [seq, claim] of underWay)
        queue.underWay.set(seq, Object.assign(claim, { leaseAskedAt: undefined }));
      countAgainAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  return {
    /** From here on, it is in this file. */
    use(open: OpenFile): void {
      database.use(open.db);
      file = open;
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
      });
    },
    /** Gives back, untried, all claims except those of these events. */
    giveBackAllBut: (ids: readonly string[]): Promise<TransactionOutcome> =>
      pass(async () => {
        for (const [seq, { event }] of queue.underWay)
          if (!ids.includes(event.id)) queue.underWay.delete(seq);
        await queue.giveBackUnknown();
      }),
    run: (calls: readonly Call[]): Promise<TransactionOutcome> => pass(() => carryOut(calls)),
    /** Called about twice a second; `isThorough` every few seconds. */
    async look(isThorough = false): Promise<TransactionOutcome> {
      const outcome = await pass(async () => {
        await queue.renew();
        await owners.endKilled();
        await queue.queueAllDue();
        if (!isThorough) return;
        await owners.removeLocks();
        await space.forgetIds(maxBytes);
        if (clock.monotonic() - keptUpAt < UPKEEP_MS) return;
        await queue.upkeep(FORGOTTEN_AT_ONCE);
        keptUpAt = clock.monotonic();
      });
      if (isThorough) file.cleanLog();
      return outcome;
    },
  };
}
