import type { EventKind, OutboxEvent } from "../events.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import { type InLine, Line } from "./line.js";
import type { AddOutcome, Capacity, Claim, OutboxObserver, Verdict } from "./outbox.js";
import { shedFor, sizeOf } from "./shedding.js";

/** Where a durable outbox stores. A call that rejects says that the storage fails; how far the call got is unknown. */
export interface Storage<C extends Claim> {
  /** Stores the event, unless its id is known. */
  append(event: OutboxEvent): Promise<"queued" | "duplicate" | "full">;
  /** Takes events whose turn it is, as the lanes allow. */
  claim(capacity: Capacity): Promise<readonly C[]>;
  /** Does with a claimed event what the verdict says. */
  settle(claim: C, verdict: Verdict): Promise<void>;
}

/** A storage with memory to fall back on: `add`, `claim` and `settle` never reject, and `add` resolves within a second. */
export interface Fallback<C extends Claim> {
  add(event: OutboxEvent): Promise<AddOutcome>;
  claim(capacity: Capacity): Promise<readonly C[]>;
  settle(claim: C, verdict: Verdict): Promise<void>;
  /** What is wrong with the storage while it is degraded. */
  readonly trouble: Error | undefined;
  /** How many events are on their way to the storage, or wait in memory until it has recovered. */
  readonly length: number;
  /** When the first of them happened, in milliseconds since the epoch; `null` where there is none. */
  readonly oldest: number | null;
  /** Awaits what is on its way, and makes a last attempt where the storage is degraded. What is left is in memory only. */
  close(): Promise<void>;
}

export interface FallbackOptions {
  /** How many bytes of memory the events take at most, by a rough count. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly observer: OutboxObserver;
  /** Called for each event that the storage has taken or knows. */
  readonly onStored: () => void;
}

interface Pending extends InLine<Pending> {
  readonly event: OutboxEvent;
  readonly size: number;
  sheddable: Sheddable | undefined;
  /** Ends with the call that stores it at this moment. */
  storing: Promise<void> | undefined;
  receipt: Receipt | undefined;
}

/** What the caller of `add` waits for. */
interface Receipt {
  readonly dueAt: number;
  resolve(outcome: AddOutcome): void;
}

/** A pending event's place among those of its kind that may be shed: all but those on their way to the storage. */
interface Sheddable extends InLine<Sheddable> {
  readonly pending: Pending;
  readonly size: number;
}

const RECEIPT_WITHIN_MS = 1_000;
const FIRST_ATTEMPT_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const BATCH = 200;

/**
 * Keeps in memory what a failing storage cannot take, and stores it, in order, once the storage has recovered. Nothing is
 * claimed while the storage is degraded: an event in memory may have to go before one that is stored.
 */
export function createFallback<C extends Claim>(
  storage: Storage<C>,
  { maxBytes, clock, observer, onStored }: FallbackOptions,
): Fallback<C> {
  const line = new Line<Pending>();
  const sheddable: Record<EventKind, Line<Sheddable>> = {
    click: new Line(),
    registration: new Line(),
    payment: new Line(),
  };
  const ids = new Set<string>();
  const verdicts: [C, Verdict][] = [];
  /** Events whose receipts are due, the first due first. One timer does for all of them. */
  const awaited = new Set<Pending>();
  let cancelDue: (() => void) | undefined;
  let bytes = 0;
  let trouble: Error | undefined;
  let pauseMs = FIRST_ATTEMPT_MS;
  let cancelAttempt = () => {};
  let recovery: Promise<void> | undefined;
  let closed = false;

  function enter(event: OutboxEvent): Pending | undefined {
    const size = sizeOf(event);
    if (!makeSpace(event.kind, size)) return undefined;
    const pending: Pending = {
      event,
      size,
      sheddable: undefined,
      storing: undefined,
      receipt: undefined,
      before: undefined,
      after: undefined,
    };
    line.join(pending);
    ids.add(event.id);
    bytes += size;
    return pending;
  }

  function leave(pending: Pending): void {
    line.leave(pending);
    protect(pending);
    ids.delete(pending.event.id);
    bytes -= pending.size;
  }

  function makeSpace(kind: EventKind, size: number): boolean {
    return shedFor(kind, {
      oldestFirst: (lower) => sheddable[lower],
      isEnough: (_, freed) => bytes - freed + size <= maxBytes,
      shed({ pending }) {
        leave(pending);
        observer.dropped(pending.event, "full");
      },
    });
  }

  /** From here on it gives way to a more important event. */
  function expose(pending: Pending): void {
    pending.sheddable = { pending, size: pending.size, before: undefined, after: undefined };
    sheddable[pending.event.kind].join(pending.sheddable);
  }

  /** From here on it gives way to no other. */
  function protect(pending: Pending): void {
    if (pending.sheddable) sheddable[pending.event.kind].leave(pending.sheddable);
    pending.sheddable = undefined;
  }

  /** Stores one event, unless a call that does is under way. Rejects, and leaves it where it was, where that fails. */
  function store(pending: Pending): Promise<void> {
    pending.storing ??= append(pending);
    return pending.storing;
  }

  async function append(pending: Pending): Promise<void> {
    protect(pending);
    try {
      const outcome = await storage.append(pending.event);
      leave(pending);
      onStored();
      if (!answer(pending, outcome) && outcome === "full") observer.dropped(pending.event, "full");
    } catch (error) {
      pending.storing = undefined;
      expose(pending);
      throw error;
    }
  }

  /** Returns whether the receipt was still due. */
  function answer(pending: Pending, outcome: AddOutcome): boolean {
    pending.receipt?.resolve(outcome);
    pending.receipt = undefined;
    return awaited.delete(pending);
  }

  /** Resolves when the storage has answered; at the latest after a second, and then the event stays in memory until it has. */
  function receiptOf(pending: Pending): Promise<AddOutcome> {
    return new Promise((resolve) => {
      pending.receipt = { dueAt: clock.monotonic() + RECEIPT_WITHIN_MS, resolve };
      awaited.add(pending);
      cancelDue ??= clock.after(RECEIPT_WITHIN_MS, answerDue);
      store(pending).catch((error) => {
        degrade(error);
        answer(pending, "in-memory");
      });
    });
  }

  function answerDue(): void {
    cancelDue = undefined;
    const now = clock.monotonic();
    for (const pending of awaited) {
      const { dueAt } = pending.receipt as Receipt;
      if (dueAt > now) {
        cancelDue = clock.after(dueAt - now, answerDue);
        return;
      }
      answer(pending, "in-memory");
    }
  }

  function degrade(error: unknown): void {
    if (trouble) return;
    trouble = errorFrom(error);
    pauseMs = FIRST_ATTEMPT_MS;
    attemptLater();
    observer.degraded(trouble);
  }

  function attemptLater(): void {
    if (!closed) cancelAttempt = clock.after(pauseMs, recover);
  }

  function recover(): Promise<void> {
    recovery ??= attemptRecovery().finally(() => {
      recovery = undefined;
    });
    return recovery;
  }

  async function attemptRecovery(): Promise<void> {
    try {
      while (verdicts.length > 0 || line.length > 0) {
        // Verdicts first: they free space in the storage.
        if (verdicts.length > 0) await settleFirst();
        else await storeBatch();
      }
    } catch (error) {
      trouble = errorFrom(error);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      attemptLater();
      return;
    }
    trouble = undefined;
    observer.recovered();
  }

  async function settleFirst(): Promise<void> {
    await storage.settle(...(verdicts[0] as [C, Verdict]));
    verdicts.shift();
  }

  async function storeBatch(): Promise<void> {
    const batch = line.peek(BATCH);
    // All of them end before the next attempt: one that fails must not be overtaken.
    for (const result of await Promise.allSettled(batch.map(store))) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  return {
    get trouble() {
      return trouble;
    },
    get length() {
      return line.length;
    },
    get oldest() {
      return line.first?.event.createdAt ?? null;
    },
    // Not async: every event passes here, and that would put one more promise around the one there is.
    add(event) {
      if (ids.has(event.id)) return Promise.resolve("duplicate");
      const pending = enter(event);
      if (!pending) return Promise.resolve("full");
      if (!trouble) return receiptOf(pending);
      expose(pending);
      return Promise.resolve("in-memory");
    },
    async claim(capacity) {
      if (trouble) return [];
      try {
        return await storage.claim(capacity);
      } catch (error) {
        degrade(error);
        return [];
      }
    },
    async settle(claim, verdict) {
      if (!trouble) {
        try {
          return await storage.settle(claim, verdict);
        } catch (error) {
          degrade(error);
        }
      }
      verdicts.push([claim, verdict]);
    },
    async close() {
      closed = true;
      cancelAttempt();
      await Promise.allSettled([...line].map(({ storing }) => storing));
      if (trouble) await recover();
      cancelDue?.();
    },
  };
}
