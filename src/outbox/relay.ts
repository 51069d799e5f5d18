import { harmless } from "../shared/harmless.js";
import { setImmediate } from "../shared/real-timers.js";
import type { Capacity, Claim, Deliver, Verdict } from "./outbox.js";

/** Stored events. Each outbox has its own. */
export interface ClaimSource<C extends Claim> {
  /** Claims ready, unclaimed heads of visitors' queues, as the lanes allow. */
  claim(capacity: Capacity): readonly C[] | Promise<readonly C[]>;
  /** Resolves to `false` if the verdict had no effect: then listeners are not called. */
  settle(claim: C, verdict: Verdict): void | Promise<void> | Promise<boolean>;
  /**
   * Whether a claim that is asked for after a verdict sees what the verdict did. Such a store answers
   * a claim in a later tick.
   */
  readonly isInOrder?: boolean | undefined;
}

/**
 * Takes events from a store to `deliver`, as capacity allows, and verdicts back. Calls `onError` if
 * a call fails, and goes on at the next `wake`.
 */
export function createRelay<C extends Claim>(store: ClaimSource<C>, onError: (error: unknown) => void) {
  let deliver: Deliver | undefined;
  /** A claim is to be made, or under way. */
  let claiming = false;
  let wokenMeanwhile = false;
  let underWay = 0;
  let settling = 0;
  let stopping = false;
  let hasEnded = () => {};
  const end = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });

  // Once a tick, after its I/O: the host's response goes first, and events that come together share
  // a claim. A claim that follows a claim waits for no tick.
  function wake(): void {
    if (stopping) endIfIdle();
    // Two claims at once would count the same capacity.
    else if (claiming) wokenMeanwhile = true;
    else if (deliver) {
      const to = deliver;
      claiming = true;
      setImmediate(() => void claimAndDeliver(to));
    }
  }

  async function claimAndDeliver(to: Deliver): Promise<void> {
    try {
      do {
        wokenMeanwhile = false;
        const { limit, lanes } = to.capacity();
        // An attempt keeps its slot until its verdict is stored: only then can its visitor's next
        // event be claimed, and that may be the most urgent.
        const capacity = { lanes, limit: store.isInOrder ? limit : limit - settling };
        if (stopping || capacity.limit <= 0 || capacity.lanes.length === 0) break;
        const claimed = store.claim(capacity);
        for (const claim of claimed instanceof Promise ? await claimed : claimed) void deliverOne(claim, to);
        // What was claimed has its slots, and is sent a microtask later (`attempt` in delivery.ts). So
        // the store's thread is at work on the next claim meanwhile.
      } while (wokenMeanwhile && store.isInOrder);
    } catch (error) {
      harmless(() => onError(error));
    }
    claiming = false;
    if (wokenMeanwhile || stopping) wake();
  }

  async function deliverOne(claim: C, to: Deliver): Promise<void> {
    const { event, history } = claim;
    underWay++;
    let verdict: Verdict;
    try {
      verdict = stopping ? { type: "release" } : await to.deliver(claim);
    } catch (error) {
      // `deliver` never rejects. If it does, the event may have been taken.
      harmless(() => onError(error));
      verdict = { type: "dead", reason: "unconfirmed", attempts: history.attempts + 1 };
    }
    underWay--;
    settling++;
    try {
      const settled = store.settle(claim, verdict);
      // In one transaction with the verdict: a slot does not wait for two.
      if (store.isInOrder || stopping) wake();
      if (settled && (await settled) === false) return;
      to.settled(event, history.attempts, verdict);
    } catch (error) {
      harmless(() => onError(error));
      wake();
    } finally {
      settling--;
      if (!store.isInOrder) wake();
    }
  }

  function endIfIdle(): void {
    if (underWay === 0 && !claiming) hasEnded();
  }

  return {
    start(to: Deliver): void {
      deliver = to;
      wake();
    },
    /** Claims: an event came, or has rested, or there is capacity again. */
    wake,
    /** Whether nothing is under way, and the last claim found nothing. */
    get idle(): boolean {
      return underWay + settling === 0 && !claiming;
    },
    /** Claims no more. Resolves when `settle` was called for the last time. */
    stop(): Promise<void> {
      stopping = true;
      endIfIdle();
      return end;
    },
  };
}
