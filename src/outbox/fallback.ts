import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { byKind } from "../conversion/kinds.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import { LinkedList, type ListLinks } from "../shared/linked-list.js";
import { setImmediate } from "../shared/real-timers.js";
import type { AddOutcome, Capacity, Claim, OutboxObserver, Stored, Verdict } from "./outbox.js";
import { heapSizeOf, kindsBelow } from "./shedding.js";

/** If a call rejects, the storage fails, and whether the call had an effect is unknown. */
export interface Storage<C extends Claim> {
  /**
   * Stores the event, unless its id is known. Calls `waits` if that waits for a host's open
   * transaction: the event keeps its position, and other visitors' events need not wait.
   */
  append(event: OutboxEvent, waits?: () => void): Promise<Stored>;
  claim(capacity: Capacity): Promise<readonly C[]>;
  /** Resolves to `false` if the event was another process's by then. */
  settle(claim: C, verdict: Verdict): Promise<unknown>;
  readonly spool?: Spool | undefined;
  /** See `ClaimSource`. */
  readonly isInOrder?: boolean | undefined;
}

/** Keeps events on their way to the storage, so that they survive the end of the process. */
export interface Spool {
  /** Has kept the event when it returns: the visitor may get the response at once. */
  add(event: OutboxEvent): void;
  /** The event is stored, or was dropped. */
  remove(event: OutboxEvent): void;
  /** Whether it has all events that were added and not removed. */
  readonly isWhole: boolean;
}

/** What the storage has to do: it is kept until that is done. */
class Task implements ListLinks<Task>, ListLinks<Task, "kindBefore", "kindAfter"> {
  underWay: Promise<void> | undefined = undefined;
  /** It waits in the storage for a host's open transaction. */
  isWaiting = false;
  /** Called when that wait begins. */
  onWaiting = ignore;
  before: Task | undefined = undefined;
  after: Task | undefined = undefined;
  kindBefore: Task | undefined = undefined;
  kindAfter: Task | undefined = undefined;

  constructor(
    readonly call: "append" | "settle",
    readonly event: OutboxEvent,
    readonly run: () => Promise<void>,
    /** Of an event: bytes of memory, roughly. */
    readonly size = 0,
    /** It will not be done. */
    readonly abandon = ignore,
  ) {}
}

/** How long a caller of `add` waits at most. Tests on real storages raise it. */
export const receiptTimes = { withinMs: 1_000 };

const BATCH = 200;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
// If a storage fails again sooner, it has not recovered: the next pause is longer.
const LASTING_MS = 10_000;

/**
 * Keeps in memory what a failing storage does not take, and stores it in order once it works.
 * Claims nothing before: an event in memory may have to go before a stored one. `add` (within a
 * second), `claim` and `settle` never reject. A problem is over when a call of the kind that failed
 * works.
 */
export function createFallback<C extends Claim>(
  storage: Storage<C>,
  options: {
    /** Most bytes of memory that events take, roughly. */
    readonly maxBytes: number;
    /** How often the storage looks for events that have rested. */
    readonly pollMs: number;
    readonly clock: Clock;
    readonly observer: OutboxObserver;
    /** When there may be something to claim, or the storage has recovered. */
    readonly wake: () => void;
  },
) {
  const { maxBytes, pollMs, clock, observer, wake } = options;
  const { spool } = storage;
  /** Events on their way to the storage, or waiting for it, in order. */
  const events = new LinkedList<Task>();
  /** The same: to shed one looks at none of the others, however many wait. */
  const ofKind = byKind(() => new LinkedList<Task, "kindBefore", "kindAfter">("kindBefore", "kindAfter"));
  const ids = new Set<string>();
  const verdicts = new LinkedList<Task>();
  let bytes = 0;
  let problem: Error | undefined;
  let failed: Task["call"] | "claim" | undefined;
  /** Whether calls are made: the storage works, or it is time to try it. */
  let isUsable = true;
  let usableSince = Number.NEGATIVE_INFINITY;
  let pauseMs = FIRST_PAUSE_MS;
  let cancelAttempt = () => {};
  let recovery: Promise<void> | undefined;
  let isClosed = false;

  /** Does it, once at a time. If it fails, rejects, and the task keeps its position. */
  function begin(task: Task): Promise<void> {
    task.underWay ??= task.run().catch((error) => {
      task.underWay = undefined;
      task.isWaiting = false;
      fails(task.call, error);
      throw error;
    });
    return task.underWay;
  }

  async function append(task: Task): Promise<AddOutcome> {
    const outcome = await storage.append(task.event, () => {
      task.isWaiting = true;
      task.onWaiting();
    });
    remove(task);
    works("append");
    // Not before: a claim that this event causes comes after its caller has the receipt.
    wake();
    return outcome;
  }

  async function settle(task: Task, claim: C, verdict: Verdict): Promise<boolean> {
    const isActedOn = await storage.settle(claim, verdict);
    verdicts.remove(task);
    works("settle");
    if (verdict.type === "retry" && verdict.inMs < pollMs) clock.after(verdict.inMs, wake);
    return isActedOn !== false;
  }

  function remove(task: Task): void {
    events.remove(task);
    ofKind[task.event.kind].remove(task);
    ids.delete(task.event.id);
    bytes -= task.size;
    spool?.remove(task.event);
  }

  /** Sheds events that are not on their way: clicks first, payments last, no more than needed. */
  function makeSpace(kind: EventKind, size: number): boolean {
    let missing = bytes + size - maxBytes;
    if (missing <= 0) return true;
    const victims: Task[] = [];
    for (const lower of kindsBelow(kind)) {
      for (const task of ofKind[lower]) {
        if (task.underWay) continue;
        victims.push(task);
        missing -= task.size;
        if (missing > 0) continue;
        for (const victim of victims) remove(victim);
        for (const { event } of victims) observer.dropped(event, "full");
        return true;
      }
    }
    return false;
  }

  /** No other calls are made for a while. */
  function fails(call: Task["call"] | "claim", cause: unknown): void {
    if (!isUsable) return;
    const isKnown = problem !== undefined;
    const hasLasted = clock.monotonic() - usableSince >= LASTING_MS;
    isUsable = false;
    failed = call;
    const error = tryIn(hasLasted ? FIRST_PAUSE_MS : 2 * pauseMs, cause);
    if (!isKnown) observer.degraded(error);
  }

  function works(call?: Task["call"] | "claim"): void {
    if (failed === call) failed = undefined;
    if (!problem || !isUsable || failed) return;
    problem = undefined;
    observer.recovered();
  }

  function tryIn(ms: number, cause: unknown): Error {
    problem = errorFrom(cause);
    pauseMs = Math.min(ms, LONGEST_PAUSE_MS);
    if (!isClosed) cancelAttempt = clock.after(pauseMs, () => void recover());
    return problem;
  }

  function recover(): Promise<void> {
    recovery ??= storeAll().finally(() => {
      recovery = undefined;
    });
    return recovery;
  }

  async function storeAll(): Promise<void> {
    try {
      // Looks after each call: events that come meanwhile have to be stored here.
      for (let batch = firstTasks(); batch.length > 0; batch = firstTasks()) {
        // Awaits the whole batch: otherwise a later event could overtake a failed one.
        for (const result of await Promise.allSettled(batch.map(carryOutOrWait)))
          if (result.status === "rejected") throw result.reason;
      }
    } catch (error) {
      tryIn(2 * pauseMs, error);
      return;
    }
    isUsable = true;
    usableSince = clock.monotonic();
    works();
    // If nothing waited, the next claim shows whether the storage works.
    wake();
  }

  /** Verdicts, which free space in the storage, or events that no host's open transaction holds up. */
  function firstTasks(): Task[] {
    if (verdicts.length > 0) return [...verdicts];
    const free: Task[] = [];
    for (const task of events) {
      if (free.length === BATCH) break;
      if (!task.isWaiting) free.push(task);
    }
    return free;
  }

  /** Resolves when it is done, or when it waits for a host's transaction, which may be long. */
  function carryOutOrWait(task: Task): Promise<void> {
    return new Promise((resolve, reject) => {
      task.onWaiting = resolve;
      begin(task).then(resolve, reject);
    });
  }

  return {
    isInOrder: storage.isInOrder,
    /** What is wrong with the storage. */
    get problem() {
      return problem;
    },
    /** How many events are on their way to the storage, or wait in memory. */
    get length() {
      return events.length;
    },
    /** Whether these survive the end of the process, if the storage does. */
    get isDurable() {
      return events.length === 0 || spool?.isWhole === true;
    },
    /** When the first happened, in milliseconds since the epoch; `null` if there is none. */
    get oldest(): number | null {
      return events.first?.event.createdAt ?? null;
    },
    add(event: OutboxEvent): Promise<AddOutcome> {
      if (ids.has(event.id)) return Promise.resolve("duplicate");
      const size = heapSizeOf(event);
      if (!makeSpace(event.kind, size)) return Promise.resolve("full");
      return new Promise((resolve) => {
        let cancel = () => {};
        let isAnswered = false;
        function answer(outcome: AddOutcome): void {
          cancel();
          if (isAnswered && outcome === "full") observer.dropped(event, "full");
          isAnswered = true;
          resolve(outcome);
        }
        const task: Task = new Task("append", event, async () => answer(await append(task)), size);
        events.append(task);
        ofKind[event.kind].append(task);
        ids.add(event.id);
        bytes += size;
        spool?.add(event);
        if (!isUsable) return answer("in-memory");
        cancel = clock.after(receiptTimes.withinMs, () => answer("in-memory"));
        begin(task).catch(() => answer("in-memory"));
      });
    },
    async claim(capacity: Capacity): Promise<readonly C[]> {
      if (!isUsable) return [];
      try {
        const claims = await storage.claim(capacity);
        works("claim");
        return claims;
      } catch (error) {
        fails("claim", error);
        return [];
      }
    },
    /** Resolves when stored; to `false` if it had no effect, or was not stored before the end. */
    settle(claim: C, verdict: Verdict): Promise<boolean> {
      if (isClosed) return Promise.resolve(false);
      return new Promise((resolve) => {
        const run = async () => resolve(await settle(task, claim, verdict));
        const task: Task = new Task("settle", claim.event, run, 0, () => resolve(false));
        verdicts.append(task);
        if (isUsable) begin(task).catch(ignore);
      });
    },
    /** Waits for events on their way to the storage. Rejects if it fails and one waits in memory. */
    async stored(matches: (event: OutboxEvent) => boolean): Promise<void> {
      const matching = () => [...events].filter(({ event }) => matches(event));
      await Promise.allSettled(matching().map(({ underWay }) => underWay));
      if (problem && matching().length > 0) throw problem;
    },
    /** Awaits calls under way, and tries a failing storage once more. The rest is in memory only. */
    async close(): Promise<void> {
      isClosed = true;
      cancelAttempt();
      await Promise.allSettled([...events, ...verdicts].map(({ underWay }) => underWay));
      if (!isUsable) {
        // In the tick in which its thread fails, the disk outbox refuses all calls.
        await new Promise<void>((resolve) => setImmediate(resolve));
        await recover();
      }
      for (const { abandon } of verdicts) abandon();
    },
  };
}

function ignore(): void {}
