import { clamp } from "./when-again.js";

const FAILURES_OF_AN_OUTAGE = 16;
const SHORTEST_OUTAGE_MS = 500;
// A service that is down for two seconds gets few requests.
const LONGEST_DOUBT_MS = 1_900;
const MOST_PATIENCE = 64;
const FADING = 0.8;

/** The attempts at one endpoint that failed since the last one that it took. Times are in milliseconds since any moment. */
export class FailureStreak {
  #failures = 0;
  #since = Number.POSITIVE_INFINITY;
  // Two are enough to know that it is no single visitor's fault.
  readonly #visitors = new Set<string>();
  #costly = 0;
  /** How many times the usual failures it takes to make an outage. More than 1 after the endpoint has taken an event in spite of many failures. */
  #patience = 1;

  /** When the first of them began; infinite where there is none. */
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
   * Whether the endpoint takes nothing from different visitors: many of their events failed, or have failed for long. Where each
   * failure costs an event, two are enough.
   *
   * @param longMs what is long for this endpoint.
   */
  isOutage(now: number, isCostly: boolean, longMs: number): boolean {
    const doubtMs = Math.min(SHORTEST_OUTAGE_MS * this.#patience, LONGEST_DOUBT_MS);
    const isLong = now - this.#since >= Math.max(doubtMs, longMs);
    const areMany = this.#failures >= FAILURES_OF_AN_OUTAGE * this.#patience;
    return this.#visitors.size > 1 && (isCostly || isLong || areMany);
  }

  /** An event was taken. */
  end(): void {
    // Else a crowd of events that the service never takes would look like an outage to the others.
    const needed = (4 * this.#failures) / FAILURES_OF_AN_OUTAGE;
    this.#patience = clamp(needed, Math.max(1, FADING * this.#patience), MOST_PATIENCE);
    this.#failures = 0;
    this.#since = Number.POSITIVE_INFINITY;
    this.#visitors.clear();
    this.#costly = 0;
  }
}
