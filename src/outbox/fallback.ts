import type { OutboxEvent } from "../conversion/events.js";
import type { Clock } from "../shared/clock.js";
import { setImmediate } from "../shared/real-timers.js";
import type { Capacity, Claim, Verdict } from "./claim.js";
import type { AddOutcome, OutboxObserver } from "./outbox.js";
import { type Pending, PendingEvents, type Spool } from "./pending-events.js";
import { Receipts } from "./receipts.js";
import { StorageState } from "./storage-state.js";
import { Verdicts } from "./verdicts.js";

/** If a call rejects, the storage fails, and whether the call had an effect is unknown. */
export interface Storage<C extends Claim> {
  /**
   * Stores the event, unless its id is known. Calls `waits` if that waits for a host's open
   * transaction: the event keeps its position, and other visitors' events need not wait.
   */
  append(event: OutboxEvent, waits?: () => void): Promise<"queued" | "duplicate" | "full">;
  claim(capacity: Capacity): Promise<readonly C[]>;
  /** Resolves to `false` if the event was another process's by then. */
  settle(claim: C, verdict: Verdict): Promise<unknown>;
  readonly spool?: Spool | undefined;
  /** See `ClaimSource`. */
  readonly isInOrder?: boolean | undefined;
}

const BATCH = 200;

/**
 * Keeps in memory what a failing storage does not take, and stores it in order once it works.
 * Claims nothing before: an event in memory may have to go before a stored one. `add` (within a
 * second), `claim` and `settle` never reject.
 */
export function createFallback<C extends Claim>(
  storage: Storage<C>,
  options: {
    /** Most bytes of memory that events take, roughly. */
    readonly maxBytes: number;
    readonly clock: Clock;
    readonly observer: OutboxObserver;
    /** For each event that the storage has stored or knows, and when it has recovered. */
    readonly onStored: () => void;
  },
) {
  const { maxBytes, clock, observer, onStored } = options;
  const pending = new PendingEvents({
    maxBytes,
    spool: storage.spool,
    onShed: (event) => observer.dropped(event, "full"),
  });
  const receipts = new Receipts(clock);
  const state = new StorageState({ clock, observer, attempt: () => void recover() });
  const verdicts = new Verdicts(storage, state);
  let recovery: Promise<void> | undefined;

  /** Stores an event, once at a time. If that fails, rejects, and the event keeps its position. */
  function store(each: Pending): Promise<void> {
    each.storing ??= append(each);
    return each.storing;
  }

  async function append(each: Pending): Promise<void> {
    pending.forbidShedding(each);
    try {
      const outcome = await storage.append(each.event, () => {
        each.isWaiting = true;
        each.onWaiting?.();
      });
      pending.remove(each);
      state.works("append");
      onStored();
      const isAnswered = each.receipt && receipts.answer(each.receipt, outcome);
      if (!isAnswered && outcome === "full") observer.dropped(each.event, "full");
    } catch (error) {
      each.storing = undefined;
      each.isWaiting = false;
      pending.allowShedding(each);
      state.fails("append", error);
      if (each.receipt) receipts.answer(each.receipt, "in-memory");
      throw error;
    }
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
      for (;;) {
        const events = pending.firstFree(BATCH);
        // Verdicts first: they free space in the storage.
        if (verdicts.areWaiting) await verdicts.storeFirst();
        else if (events.length > 0) await storeBatch(events);
        else break;
      }
    } catch (error) {
      state.staysUnusable(error);
      return;
    }
    state.isUsableAgain();
    // If nothing waited, the next claim shows whether the storage works.
    onStored();
  }

  async function storeBatch(events: readonly Pending[]): Promise<void> {
    // Awaits the whole batch: otherwise a later event could overtake a failed one.
    for (const result of await Promise.allSettled(events.map(storeOrWait))) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  /** Resolves when stored, or when it waits for a host's transaction, which may be long. */
  function storeOrWait(each: Pending): Promise<void> {
    return new Promise((resolve, reject) => {
      each.onWaiting = resolve;
      store(each).then(resolve, reject);
    });
  }

  return {
    isInOrder: storage.isInOrder,
    /** What is wrong with the storage, until a call of the kind that failed works. */
    get problem() {
      return state.problem;
    },
    /** How many events are on their way to the storage, or wait in memory. */
    get length() {
      return pending.length;
    },
    /** Whether these survive the end of the process, if the storage does. */
    get isDurable() {
      return pending.length === 0 || storage.spool?.isWhole === true;
    },
    /** When the first happened, in milliseconds since the epoch; `null` if there is none. */
    get oldest(): number | null {
      return pending.first?.event.createdAt ?? null;
    },
    // Not async: that costs each event one more promise.
    add(event: OutboxEvent): Promise<AddOutcome> {
      if (pending.has(event)) return Promise.resolve("duplicate");
      const each = pending.add(event);
      if (!each) return Promise.resolve("full");
      if (!state.isUsable) {
        pending.allowShedding(each);
        return Promise.resolve("in-memory");
      }
      each.receipt = receipts.open();
      // The receipt says that it failed.
      store(each).catch(() => {});
      return each.receipt.outcome;
    },
    async claim(capacity: Capacity): Promise<readonly C[]> {
      if (!state.isUsable) return [];
      try {
        const claims = await storage.claim(capacity);
        state.works("claim");
        return claims;
      } catch (error) {
        state.fails("claim", error);
        return [];
      }
    },
    /** Resolves when stored; to `false` if it had no effect, or was not stored before the end. */
    settle: (claim: C, verdict: Verdict): Promise<boolean> => verdicts.settle(claim, verdict),
    /** Waits for events on their way to the storage. Rejects if it fails and one waits in memory. */
    async stored(matches: (event: OutboxEvent) => boolean): Promise<void> {
      const matching = () => pending.all.filter(({ event }) => matches(event));
      await Promise.allSettled(matching().map(({ storing }) => storing));
      if (state.problem && matching().length > 0) throw state.problem;
    },
    /** Awaits calls under way, and tries a failing storage once more. The rest is in memory only. */
    async close(): Promise<void> {
      state.end();
      await Promise.allSettled(pending.all.map(({ storing }) => storing));
      await verdicts.settled();
      if (!state.isUsable) {
        // In the tick in which its thread fails, the disk outbox refuses all calls.
        await new Promise<void>((resolve) => setImmediate(resolve));
        await recover();
      }
      receipts.end();
      verdicts.end();
    },
  };
}
