import { setImmediate } from "../real-timers.js";
import type { Deliver, LiveEvent, Verdict } from "./outbox.js";

/** A table of events that knows whose turn it is: what the outboxes differ in. */
export interface Store<Claim extends LiveEvent> {
  /** At most `limit` events whose turn has come: the oldest of their visitors, rested, and in nobody else's hands. */
  claim(limit: number): readonly Claim[] | Promise<readonly Claim[]>;
  /** Does with a claimed event what the verdict says. */
  settle(claim: Claim, verdict: Verdict): void | Promise<void>;
}

export interface Relay {
  start(deliver: Deliver): void;
  /** Something may be deliverable that was not: an event came, or has rested, or there is room again. */
  wake(): void;
  /** Claims nothing more. Resolves when the last verdict was acted on. */
  stop(): Promise<void>;
}

/**
 * Carries events from a store to `deliver` and the verdicts back, as many at once as there is room for.
 *
 * @param onError hears what `claim`, `settle` or `deliver` failed with. The relay itself goes on at the next `wake`.
 */
export function createRelay<Claim extends LiveEvent>(
  store: Store<Claim>,
  onError: (error: unknown) => void,
): Relay {
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
      // Two claims at a time would each count the same room.
      wokenMeanwhile = true;
      return;
    }
    claiming = true;
    try {
      const limit = stopping ? 0 : to.room;
      if (limit > 0) {
        const claimed = store.claim(limit);
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

  async function carry(claim: Claim, to: Deliver): Promise<void> {
    const { event, attempts, maybeTaken } = claim;
    underWay++;
    let verdict: Verdict;
    try {
      verdict = stopping ? { is: "kept", maybeTaken } : await to(claim);
    } catch (error) {
      // It never rejects; should it do so all the same, nobody can say how far the event got.
      onError(error);
      verdict = { is: "dead", reason: "unconfirmed", attempts: attempts + 1 };
    }
    try {
      const settled = store.settle(claim, verdict);
      if (settled) await settled;
      to.settled(event, attempts, verdict);
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
    stop() {
      stopping = true;
      endIfIdle();
      return end;
    },
  };
}
