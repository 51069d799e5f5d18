import { setImmediate } from "../shared/real-timers.js";
import type { Capacity, Claim, Deliver, Verdict } from "./outbox.js";

/** A table of events that knows whose turn it is: what the outboxes differ in. */
export interface Store<C extends Claim> {
  /** Events whose turn has come, as the lanes allow: the oldest of their visitors, rested, and claimed by no other process. */
  claim(capacity: Capacity): readonly C[] | Promise<readonly C[]>;
  /** Does with a claimed event what the verdict says. Resolves to `false` where that could not be done: no listener is told of it. */
  settle(claim: C, verdict: Verdict): void | Promise<void> | Promise<boolean>;
  /** Events that were claimed before, and go now that there is a place again. A claim follows. Absent where all that is claimed goes at once. */
  next?(capacity: () => Capacity): readonly C[];
  /** Nothing goes any more: events that were claimed, and have not gone. */
  giveBack?(): readonly C[];
}

export interface Relay {
  start(deliver: Deliver): void;
  /** Something may be deliverable that was not: an event came, or has rested, or there is capacity again. */
  wake(): void;
  /** Whether nothing is under way, and the last look found nothing that may be handed over. */
  readonly idle: boolean;
  /** Claims nothing more. Resolves when the last verdict was acted on. */
  stop(): Promise<void>;
  /** Resolves once it is stopped and the last verdict has come: from there on, `settle` is not called any more. */
  readonly heard: Promise<void>;
}

/**
 * Carries events from a store to `deliver` and the verdicts back, as many at once as there is capacity for.
 *
 * @param onError hears what `claim`, `settle` or `deliver` failed with. The relay itself goes on at the next `wake`.
 * @param options.settlesWithClaim whether the store does at once what it is asked in one turn of the event loop: then what goes next
 *   is claimed together with the verdict that makes room for it. Default: once the verdict is stored.
 * @param options.soon runs a task soon: what comes until then is claimed together. Default: at the end of this turn.
 */
export function createRelay<C extends Claim>(
  store: Store<C>,
  onError: (error: unknown) => void,
  {
    settlesWithClaim = false,
    soon = setImmediate,
  }: { readonly settlesWithClaim?: boolean; readonly soon?: (task: () => void) => void } = {},
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

  // Once a turn of the event loop, after its I/O: the host's response goes first, and what comes together is claimed together.
  function wake(): void {
    if (scheduled || !deliver || stopping) return;
    scheduled = true;
    const to = deliver;
    soon(() => void turn(to));
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
      const capacity = freeOf(to.capacity());
      if (!stopping && capacity.limit > 0 && capacity.lanes.length > 0) {
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

  /** A slot is free once the verdict is stored: the event that waited behind, which may be the most urgent, can be claimed from then on. */
  function freeOf(capacity: Capacity): Capacity {
    return settlesWithClaim ? capacity : { ...capacity, limit: capacity.limit - settling };
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
    underWay--;
    settling++;
    if (!stopping) for (const next of store.next?.(to.capacity) ?? []) void carry(next, to);
    if (settlesWithClaim) wake();
    try {
      // What becomes of the event is the same; only the listeners are told another word.
      const settled = store.settle(claim, verdict.type === "skipped" ? { type: "delivered" } : verdict);
      if (stopping) endIfIdle();
      if (settled && (await settled) === false) return;
      to.settled(event, history.attempts, verdict);
    } catch (error) {
      onError(error);
    } finally {
      settling--;
      if (stopping) endIfIdle();
      else if (!settlesWithClaim) wake();
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
      if (deliver) for (const claim of store.giveBack?.() ?? []) void carry(claim, deliver);
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
