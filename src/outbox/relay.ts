import { setImmediate } from "../shared/real-timers.js";
import type { Capacity, Claim, Deliver, Verdict } from "./outbox.js";

/** A table of events that knows whose turn it is: what the outboxes differ in. */
export interface Store<C extends Claim> {
  /** Events whose turn has come, as the lanes allow: the oldest of their visitors, rested, and claimed by no other process. */
  claim(capacity: Capacity): readonly C[] | Promise<readonly C[]>;
  /** Does with a claimed event what the verdict says. */
  settle(claim: C, verdict: Verdict): void | Promise<void>;
}

export interface Relay {
  start(deliver: Deliver): void;
  /** Something may be deliverable that was not: an event came, or has rested, or there is capacity again. */
  wake(): void;
  /** Whether nothing is under way, and the last look found nothing that may be handed over. */
  readonly idle: boolean;
  /** Claims nothing more. Resolves when the last verdict was acted on. */
  stop(): Promise<void>;
}

/**
 * Carries events from a store to `deliver` and the verdicts back, as many at once as there is capacity for.
 *
 * @param onError hears what `claim`, `settle` or `deliver` failed with. The relay itself goes on at the next `wake`.
 */
export function createRelay<C extends Claim>(store: Store<C>, onError: (error: unknown) => void): Relay {
  let deliver: Deliver | undefined;
  let scheduled = false;
  let claiming = false;
  let wokenMeanwhile = false;
  let underWay = 0;
  let stopping = false;
  let ended = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });

  // Once a turn of the event loop, after its I/O: the host's response goes first, and what comes together is claimed together.
  function wake(): void {
    if (scheduled || !deliver || stopping) return;
    scheduled = true;
    setImmediate(turn, deliver);
  }

  async function turn(to: Deliver): Promise<void> {
    scheduled = false;
    if (claiming) {
      // Two claims at a time would each count the same capacity.
      wokenMeanwhile = true;
      return;
    }
    claiming = true;
    try {
      const capacity = to.capacity();
      if (!stopping && capacity.lanes.length > 0) {
        const claimed = store.claim(capacity);
        for (const claim of claimed instanceof Promise ? await claimed : claimed) void carry(claim, to);
      }
    } catch (error) {
      onError(error);
    }
    claiming = false;
    if (wokenMeanwhile) wake();
    wokenMeanwhile = false;
    if (stopping) endIfIdle();
  }

  async function carry(claim: C, to: Deliver): Promise<void> {
    const { event, history } = claim;
    underWay++;
    let verdict: Verdict;
    try {
      verdict = stopping ? { type: "release" } : await to.deliver(claim);
    } catch (error) {
      // It never rejects; should it do so all the same, how far the event got is unknown.
      onError(error);
      verdict = { type: "dead", reason: "unconfirmed", attempts: history.attempts + 1 };
    }
    try {
      // What becomes of the event is the same; only the listeners are told another word.
      const settled = store.settle(claim, verdict.type === "skipped" ? { type: "delivered" } : verdict);
      if (settled) await settled;
      to.settled(event, history.attempts, verdict);
    } catch (error) {
      onError(error);
    }
    underWay--;
    if (stopping) endIfIdle();
    else wake();
  }

  function endIfIdle(): void {
    if (underWay === 0 && !claiming) ended();
  }

  return {
    start(to) {
      deliver = to;
      wake();
    },
    wake,
    get idle() {
      return underWay === 0 && !claiming && !scheduled;
    },
    stop() {
      stopping = true;
      endIfIdle();
      return end;
    },
  };
}
