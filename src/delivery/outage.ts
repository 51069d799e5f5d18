import type { PauseReason } from "../service/endpoints.js";
import { clamp, SAVED_PROBE_MS } from "./when-again.js";

// No class here has a clock: each call gives the time.

/** What is wrong with an endpoint, and since when, in the callers' time. */
export interface Pause {
  readonly reason: PauseReason;
  readonly since: number;
  /** When an event may try next. */
  readonly until: number;
}

export interface Outage {
  readonly since: number;
  readonly reason: PauseReason;
  /** Whether a probe may cost an event. */
  readonly isCostly: boolean;
  /** When the last attempt of this process failed that was no new event's. */
  readonly failedAt: number;
  /**
   * What all processes know of it: when the first and the last event was held; the last is now if
   * another process's attempt is under way, because no probe begins meanwhile.
   */
  readonly known?: { readonly since: number; readonly lastAt: number };
  /** When there was a sign of recovery. */
  signAt?: number;
}

const MOST_SAVED = 5;

/**
 * The probes of a paused endpoint that never-tried events may make at once: a token bucket. At most
 * five are saved, also before the outage. So an event that the endpoint would take need not wait
 * until all others have tried.
 */
export class SavedProbes {
  /** When all five are saved again. */
  #fullAt = Number.NEGATIVE_INFINITY;

  spend(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + SAVED_PROBE_MS;
  }

  /** When the next one is there: now, or later. */
  nextAt(now: number): number {
    return Math.max(now, this.#fullAt - (MOST_SAVED - 1) * SAVED_PROBE_MS);
  }
}

const FAILURES_OF_AN_OUTAGE = 16;
const SHORTEST_OUTAGE_MS = 500;
// Chosen so that a service that is down for two seconds gets few requests.
const LONGEST_DOUBT_MS = 1_900;
const MOST_PATIENCE = 64;
const FADING = 0.8;

// Chosen: if a service leaves only some visitors' events unanswered, these come less often.
const LOST_TOGETHER_MS = 15_000;
const LOST_ANSWERS = 4;

/** An attempt whose answer was lost. */
interface Loss {
  readonly at: number;
  /** Its visitor's. */
  readonly names: readonly string[];
}

const areStrangers = (one: Loss, other: Loss) => !one.names.some((name) => other.names.includes(name));

/** Whether these are an outage: four, or two soon after each other, but not one visitor's alone. */
export function isLossOfAll(losses: readonly Loss[]): boolean {
  const lost = [...losses].sort((one, other) => one.at - other.at);
  return lost.some((loss, nth) => {
    const before = lost[nth - 1];
    const isAnother = before !== undefined && areStrangers(before, loss);
    return isAnother && (lost.length >= LOST_ANSWERS || loss.at - before.at < LOST_TOGETHER_MS);
  });
}

/** The attempts at one endpoint that failed since the last one that it took. */
export class FailureStreak {
  /** When the first of them began; infinite if there is none. */
  since = Number.POSITIVE_INFINITY;
  #failures = 0;
  /** The last attempts that may have cost an event. */
  #lost: readonly Loss[] = [];
  #last: Loss | undefined;
  #areOfStrangers = false;
  /** An outage takes so many times the usual failures: more if an event passed in spite of many. */
  #patience = 1;

  add(failure: Loss & { readonly isCostly: boolean }): void {
    this.#failures++;
    if (failure.isCostly) this.#lost = [...this.#lost, failure].slice(-LOST_ANSWERS);
    this.since = Math.min(this.since, failure.at);
    this.#areOfStrangers ||= this.#last !== undefined && areStrangers(this.#last, failure);
    this.#last = failure;
  }

  /**
   * Whether the endpoint takes nothing from different visitors: many attempts failed, or for long
   * (`longMs`). If the last one may have cost an event, `isLossOfAll` decides instead of the time.
   */
  isOutage(now: number, isCostly: boolean, longMs: number): boolean {
    const doubtMs = Math.min(SHORTEST_OUTAGE_MS * this.#patience, LONGEST_DOUBT_MS);
    const isLong = now - this.since >= Math.max(doubtMs, longMs);
    const areMany = this.#failures >= FAILURES_OF_AN_OUTAGE * this.#patience;
    return this.#areOfStrangers && (areMany || (isCostly ? isLossOfAll(this.#lost) : isLong));
  }

  /** An event was taken. */
  end(): void {
    // Otherwise a burst of events that the service always rejects would look like an outage.
    const needed = (4 * this.#failures) / FAILURES_OF_AN_OUTAGE;
    this.#patience = clamp(needed, Math.max(1, FADING * this.#patience), MOST_PATIENCE);
    this.#failures = 0;
    this.#lost = [];
    this.#last = undefined;
    this.#areOfStrangers = false;
    this.since = Number.POSITIVE_INFINITY;
  }
}
