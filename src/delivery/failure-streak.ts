import { clamp } from "./when-again.js";

const FAILURES_OF_AN_OUTAGE = 16;
const SHORTEST_OUTAGE_MS = 500;
// Chosen so that a service that is down for two seconds gets few requests.
const LONGEST_DOUBT_MS = 1_900;
const MOST_PATIENCE = 64;
const FADING = 0.8;

/** The attempts at one endpoint that failed since the last one that it took. Has no clock. */
export class FailureStreak {
  #failures = 0;
  #since = Number.POSITIVE_INFINITY;
  // Two are enough to know that no single visitor causes the failures.
  readonly #visitors = new Set<string>();
  #costly = 0;
  /** An outage takes so many times the usual failures: more if an event passed in spite of many. */
  #patience = 1;

  /** When the first of them began; infinite if there is none. */
  get since(): number {
    return this.#since;
  }

  /** How many of them made an unconfirmed dead letter. */
  get costly(): number {
    return this.#costly;
  }

  add(failure: { readonly beganAt: number; readonly visitor: string; readonly isCostly: boolean }): void {
    this.#failures++;
    this.#since = Math.min(this.#since, failure.beganAt);
    if (this.#visitors.size < 2) this.#visitors.add(failure.visitor);
    if (failure.isCostly) this.#costly++;
  }

  /**
   * Whether the endpoint takes nothing from different visitors: many attempts failed, or for long
   * (`longMs`). If each failure costs an event, two are enough.
   */
  isOutage(now: number, isCostly: boolean, longMs: number): boolean {
    const doubtMs = Math.min(SHORTEST_OUTAGE_MS * this.#patience, LONGEST_DOUBT_MS);
    const isLong = now - this.#since >= Math.max(doubtMs, longMs);
    const areMany = this.#failures >= FAILURES_OF_AN_OUTAGE * this.#patience;
    return this.#visitors.size > 1 && (isCostly || isLong || areMany);
  }

  /** An event was taken. */
  end(): void {
    // Otherwise a burst of events that the service always rejects would look like an outage.
    const needed = (4 * this.#failures) / FAILURES_OF_AN_OUTAGE;
    this.#patience = clamp(needed, Math.max(1, FADING * this.#patience), MOST_PATIENCE);
    this.#failures = 0;
    this.#since = Number.POSITIVE_INFINITY;
    this.#visitors.clear();
    this.#costly = 0;
  }
}
