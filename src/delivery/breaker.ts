import type { Outcome } from "./outcome.js";

/** Why nothing is sent for now. */
export type PauseReason = "failing" | "throttled" | "unauthorized" | "misconfigured";

/** What the breaker asks for after an outcome: to be told, by `tryAgain` or `stayPaused`, when the time is up. */
export interface Pause {
  readonly reason: PauseReason;
  readonly forMs: number;
}

export interface Breaker {
  /** How many events may be under way at once: 0 while paused. */
  readonly limit: number;
  readonly paused: PauseReason | undefined;
  /** Takes note of an event's outcome. Returns the pause that it begins, if it begins one. */
  record(outcome: Outcome, visitor: string): Pause | undefined;
  /** The service is reachable again: one event may try, and its outcome decides. */
  tryAgain(): void;
  /** The service is not reachable yet: the next pause, which is longer. */
  stayPaused(): Pause;
}

const FAILURES_TO_OPEN = 5;
const VISITORS_TO_OPEN = 2;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
const HUMAN_PAUSE_MS = 5 * 60_000;

/**
 * The circuit breaker of one destination; knows no time and no network.
 *
 * It opens after 5 failures in a row of at least 2 visitors: one visitor whose events the service cannot stomach is
 * no outage. When it closes again, what waits goes out by one, two, four, … at a time, and not as a herd.
 */
export function createBreaker(concurrency: number): Breaker {
  let paused: PauseReason | undefined;
  let limit = concurrency;
  let successes = 0;
  let failures = 0;
  let failing = new Set<string>();
  let pauses = 0;

  function pause(reason: PauseReason, askedForMs?: number): Pause {
    paused = reason;
    limit = 0;
    const forHumans = reason === "unauthorized" || reason === "misconfigured";
    const own = forHumans ? HUMAN_PAUSE_MS : Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS);
    pauses++;
    return { reason, forMs: askedForMs ?? own };
  }

  function succeed(): void {
    failures = 0;
    failing = new Set();
    paused = undefined;
    if (limit === concurrency) {
      pauses = 0;
    } else if (++successes >= limit) {
      limit = Math.min(limit * 2, concurrency);
      successes = 0;
    }
  }

  function fail(visitor: string): Pause | undefined {
    failures++;
    if (failing.size < VISITORS_TO_OPEN) failing.add(visitor);
    const isTrial = paused !== undefined;
    return isTrial || (failures >= FAILURES_TO_OPEN && failing.size >= VISITORS_TO_OPEN)
      ? pause("failing")
      : undefined;
  }

  return {
    get limit() {
      return limit;
    },
    get paused() {
      return paused;
    },
    record(outcome, visitor) {
      // What was under way when the pause began has nothing to add to it.
      if (limit === 0) return undefined;
      switch (outcome.is) {
        case "delivered":
        case "rejected":
          succeed();
          return undefined;
        case "failed":
        case "ambiguous":
          return fail(visitor);
        case "throttled":
          return pause("throttled", outcome.retryAfterMs);
        default:
          return pause(outcome.is);
      }
    },
    tryAgain() {
      limit = 1;
      successes = 0;
    },
    stayPaused() {
      return pause(paused ?? "failing");
    },
  };
}
