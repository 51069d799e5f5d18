import { harmless } from "../shared/harmless.js";
import { setImmediate } from "../shared/real-timers.js";
import type { Capacity, Claim, Deliver, Verdict } from "./outbox.js";

/** Stored events, of which a claim takes those that may be sent. Each outbox has its own. */
export interface ClaimSource<C extends Claim> {
  /** Claims ready events as the lanes allow: heads of their visitors' queues that no other process has claimed. */
  claim(capacity: Capacity): readonly C[] | Promise<readonly C[]>;
  /** Acts on the verdict of a claimed event. Resolves to `false` where it had no effect: listeners are not told. */
  settle(claim: C, verdict: Verdict): void | Promise<void> | Promise<boolean>;
}

export interface Relay {
  start(deliver: Deliver): void;
  /** Makes the relay claim: an event came, or has rested, or there is capacity again. */
  wake(): void;
  /** Whether nothing is under way, and the last claim found nothing. */
  readonly idle: boolean;
  /** Claims nothing more. Resolves when the last verdict was acted on. */
  stop(): Promise<void>;
  /** Resolves once it is stopped and has the last verdict: `settle` is not called after that. */
  readonly heard: Promise<void>;
}

/**
 * Takes events from a store to `deliver`, and verdicts back, as many at a time as there is capacity for.
 *
 * @param onError hears what `claim`, `settle` or `deliver` failed with. The relay itself goes on at the next `wake`.
 */
export function createRelay<C extends Claim>(
  store: ClaimSource<C>,
  onError: (error: unknown) => void,
): Relay {
  let deliver: Deliver | undefined;
  let scheduled = false;
  let claiming = false;
  let wokenMeanwhile = false;
  let underWay = 0;
  let settling = 0;
  let stopping = false;
  const [end, ended] = promiseAndResolve();
  const [lastHeard, heard] = promiseAndResolve();

  // Once a tick, after its I/O: the host's response goes first, and events that come together share a claim.
  function wake(): void {
    if (scheduled || !deliver || stopping) return;
    scheduled = true;
    const to = deliver;
    setImmediate(() => void turn(to));
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
      const { limit, ...others } = to.capacity();
      // An attempt keeps its slot until its verdict is stored. Only then can the next event of its visitor be claimed, and that may be
      // the most urgent one.
      const capacity = { ...others, limit: limit - settling };
      if (!stopping && capacity.limit > 0 && capacity.lanes.length > 0) {
        const claimed = store.claim(capacity);
        for (const claim of claimed instanceof Promise ? await claimed : claimed) void carry(claim, to);
      }
    } catch (error) {
      harmless(() => onError(error));
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
      // It never rejects. If it does, the event may have been taken.
      harmless(() => onError(error));
      verdict = { type: "dead", reason: "unconfirmed", attempts: history.attempts + 1 };
    }
    underWay--;
    settling++;
    try {
      // Stored as delivered; listeners hear `skipped`.
      const settled = store.settle(claim, verdict.type === "skipped" ? { type: "delivered" } : verdict);
      if (stopping) endIfIdle();
      if (settled && (await settled) === false) return;
      to.settled(event, history.attempts, verdict);
    } catch (error) {
      harmless(() => onError(error));
    } finally {
      settling--;
      if (stopping) endIfIdle();
      else wake();
    }
  }

  function endIfIdle(): void {
    if (underWay > 0 || claiming) return;
    heard();
    if (settling === 0) ended();
  }

  return {
    start(to) {
      deliver = to;
      wake();
    },
    wake,
    get idle() {
      return underWay + settling === 0 && !claiming && !scheduled;
    },
    heard: lastHeard,
    stop() {
      stopping = true;
      endIfIdle();
      return end;
    },
  };
}

function promiseAndResolve(): readonly [Promise<void>, () => void] {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return [promise, resolve];
}
