import type { Attempt } from "../transport.js";
import type { Outcome } from "./outcome.js";

/** Why nothing is sent for now. */
export type PauseReason = "failing" | "throttled" | "unauthorized" | "misconfigured";

/** What the breaker asks for after an outcome: to be told, by `tryAgain` or `probed`, when the time is up. */
export interface Pause {
  readonly reason: PauseReason;
  readonly forMs: number;
}

export interface Breaker {
  /** How many events may be under way at once: 0 while paused. */
  readonly limit: number;
  readonly paused: PauseReason | undefined;
  /** The stretch between two pauses, by number. What was under way when a pause began has nothing to add to it. */
  readonly stretch: number;
  /** Takes note of the outcome of an attempt that began in `stretch`. Returns the pause that it begins, if it begins one. */
  record(outcome: Outcome, visitor: string, stretch: number): Pause | undefined;
  /** The time is up: one event may try, and its outcome decides. */
  tryAgain(): void;
  /** Takes note of what the status endpoint said. Returns the next pause; if there is none, one event may try. */
  probed(attempt: Attempt, outcome: Outcome): Pause | undefined;
}

const FAILURES_TO_OPEN = 5;
const VISITORS_TO_OPEN = 2;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
const HUMAN_PAUSE_MS = 5 * 60_000;
const REFUSALS_TO_TRY_ALL_THE_SAME = 12;

/**
 * The circuit breaker of one destination; knows no time and no network.
 *
 * It opens after 5 failures in a row of at least 2 visitors: one visitor whose events the service cannot stomach is
 * no outage. Each attempt that is met with silence takes the place of one under way, until the service speaks again:
 * one that swallows requests gets no more than it could hold at once. When the breaker closes, what waits goes out by
 * one, two, four, … at a time, and not as a herd.
 */
export function createBreaker(concurrency: number): Breaker {
  let paused: PauseReason | undefined;
  let stretch = 0;
  let limit = concurrency;
  let successes = 0;
  let failures = 0;
  let silences = 0;
  let refusals = 0;
  let pauses = 0;
  const failing = new Set<string>();

  function pause(reason: PauseReason, askedForMs?: number): Pause {
    const own = isForHumans(reason)
      ? HUMAN_PAUSE_MS
      : Math.min(FIRST_PAUSE_MS * 2 ** pauses, LONGEST_PAUSE_MS);
    paused = reason;
    limit = 0;
    silences = 0;
    pauses++;
    stretch++;
    return { reason, forMs: askedForMs ?? own };
  }

  function tryAgain(): void {
    limit = 1;
    successes = 0;
  }

  function succeed(): undefined {
    paused = undefined;
    failures = 0;
    silences = 0;
    refusals = 0;
    failing.clear();
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
    const isOutage = failures >= FAILURES_TO_OPEN && failing.size >= VISITORS_TO_OPEN;
    return isTrial || isOutage || silences >= limit ? pause("failing") : undefined;
  }

  // The status endpoint may refuse where the others do not: it may want a key (§5.5), and nobody says what it answers
  // for an unknown session, so a 404 says nothing. Whatever it is, once an hour an event has a try.
  function isStillRefused(attempt: Attempt, { is }: Outcome): boolean {
    if (paused === undefined || is !== paused || !isForHumans(paused)) return false;
    if (attempt.answered && attempt.status === 404) return false;
    return ++refusals % REFUSALS_TO_TRY_ALL_THE_SAME !== 0;
  }

  return {
    get limit() {
      return limit - silences;
    },
    get paused() {
      return paused;
    },
    get stretch() {
      return stretch;
    },
    record(outcome, visitor, begunIn) {
      if (begunIn !== stretch) return undefined;
      switch (outcome.is) {
        case "delivered":
        case "rejected":
          return succeed();
        case "ambiguous":
          silences++;
          return fail(visitor);
        case "failed":
          return fail(visitor);
        case "throttled":
          return pause("throttled", outcome.retryAfterMs);
        default:
          return pause(outcome.is);
      }
    },
    tryAgain,
    probed(attempt, outcome) {
      if (outcome.is === "throttled") return pause("throttled", outcome.retryAfterMs);
      const isReachable = attempt.answered && attempt.status < 500;
      if (!isReachable || isStillRefused(attempt, outcome)) {
        return pause(outcome.is === "misconfigured" ? outcome.is : (paused ?? "failing"));
      }
      tryAgain();
      return undefined;
    },
  };
}

/** Whether it will not pass until somebody does something about it. */
function isForHumans(reason: PauseReason): boolean {
  return reason === "unauthorized" || reason === "misconfigured";
}
