import type { OutboxEvent } from "../events.js";
import type { Clock } from "../shared/clock.js";
import type { AddOutcome, Capacity, Claim, OutboxObserver, Verdict } from "./outbox.js";
import { type Pending, PendingEvents } from "./pending-events.js";
import { Receipts } from "./receipts.js";
import type { Spool } from "./spool.js";
import { StorageState } from "./storage-state.js";
import { Verdicts } from "./verdicts.js";

/** The storage of a durable outbox. A call that rejects means that the storage fails; whether the call had an effect is unknown. */
export interface Storage<C extends Claim> {
  /**
   * Stores the event, unless its id is known. Calls `waits` if that waits for the end of a host's open transaction: the event
   * keeps its position, and other visitors' events need not wait for it.
   */
  append(event: OutboxEvent, waits?: () => void): Promise<"queued" | "duplicate" | "full">;
  /** Claims ready events as the lanes allow. */
  claim(capacity: Capacity): Promise<readonly C[]>;
  /** Acts on the verdict of a claimed event. Resolves to `false` where the event was another process's by then. */
  settle(claim: C, verdict: Verdict): Promise<unknown>;
  readonly spool?: Spool | undefined;
}

/** A storage with memory to fall back on: `add`, `claim` and `settle` never reject, and `add` resolves within a second. */
export interface Fallback<C extends Claim> {
  add(event: OutboxEvent): Promise<AddOutcome>;
  claim(capacity: Capacity): Promise<readonly C[]>;
  /** Resolves when the verdict is stored; to `false` where it had no effect, or was not stored when this was closed. */
  settle(claim: C, verdict: Verdict): Promise<boolean>;
  /** What is wrong with the storage, until a call of the kind that failed has worked. */
  readonly problem: Error | undefined;
  /** How many events are on their way to the storage, or wait in memory until it has recovered. */
  readonly length: number;
  /** Whether these survive the end of the process, if the storage does. */
  readonly isDurable: boolean;
  /** When the first of them happened, in milliseconds since the epoch; `null` where there is none. */
  readonly oldest: number | null;
  /** Waits until these events are stored, of those that are on their way. Rejects if the storage fails, and one waits in memory. */
  stored(isMeant: (event: OutboxEvent) => boolean): Promise<void>;
  /** Waits for calls under way, and tries a failing storage once more. What is left is in memory only. */
  close(): Promise<void>;
}

export interface FallbackOptions {
  /** How many bytes of memory the events take at most, by a rough count. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly observer: OutboxObserver;
  /** Called for each event that the storage has stored or knows, and when it has recovered. */
  readonly onStored: () => void;
}

const BATCH = 200;

/**
 * Keeps in memory what a failing storage cannot store, and stores it, in order, once the storage works again. Nothing is
 * claimed before: an event in memory may have to go before a stored one.
 */
export function createFallback<C extends Claim>(
  storage: Storage<C>,
  { maxBytes, clock, observer, onStored }: FallbackOptions,
): Fallback<C> {
  const pending = new PendingEvents({
    maxBytes,
    spool: storage.spool,
    onShed: (event) => observer.dropped(event, "full"),
  });
  const receipts = new Receipts(clock);
  const state = new StorageState({ clock, observer, attempt: () => void recover() });
  const verdicts = new Verdicts(storage, state);
  let recovery: Promise<void> | undefined;

  /** Stores an event, unless a call that stores it is under way. Where that fails, rejects, and the event keeps its position. */
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
      pending.leave(each);
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
      // Checked again after each call: events that come meanwhile have to be stored here.
      while (verdicts.areWaiting || pending.hasFree) {
        // Verdicts first: they free space in the storage.
        if (verdicts.areWaiting) await verdicts.storeFirst();
        else await storeBatch();
      }
    } catch (error) {
      state.staysUnusable(error);
      return;
    }
    state.isUsableAgain();
    // If nothing waited, the next claim shows whether the storage works.
    onStored();
  }

  async function storeBatch(): Promise<void> {
    // Finish the batch before retrying, or a later event overtakes a failed one.
    for (const result of await Promise.allSettled(pending.peekFree(BATCH).map(storeOrWait))) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  /** Resolves once it is stored, or waits in the storage for a host's transaction, which may be open for long. */
  function storeOrWait(each: Pending): Promise<void> {
    return new Promise((resolve, reject) => {
      each.onWaiting = resolve;
      store(each).then(resolve, reject);
    });
  }

  return {
    get problem() {
      return state.problem;
    },
    get length() {
      return pending.length;
    },
    get isDurable() {
      return pending.length === 0 || storage.spool?.isWhole === true;
    },
    get oldest() {
      return pending.first?.event.createdAt ?? null;
    },
    // Not async: that would cost each event one more promise.
    add(event) {
      if (pending.has(event)) return Promise.resolve("duplicate");
      const each = pending.enter(event);
      if (!each) return Promise.resolve("full");
      if (!state.isUsable) {
        pending.allowShedding(each);
        return Promise.resolve("in-memory");
      }
      each.receipt = receipts.open();
      // The receipt tells of a failure.
      store(each).catch(() => {});
      return each.receipt.outcome;
    },
    async claim(capacity) {
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
    settle: (claim, verdict) => verdicts.settle(claim, verdict),
    async stored(isMeant) {
      const meant = () => pending.peek(pending.length).filter(({ event }) => isMeant(event));
      await Promise.allSettled(meant().map(({ storing }) => storing));
      if (state.problem && meant().length > 0) throw state.problem;
    },
    async close() {
      state.end();
      await Promise.allSettled(pending.peek(pending.length).map(({ storing }) => storing));
      await verdicts.settled();
      if (!state.isUsable) await recover();
      receipts.end();
      verdicts.end();
    },
  };
}
