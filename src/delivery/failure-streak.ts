const FAILURES_OF_AN_OUTAGE = 16;
const SHORTEST_OUTAGE_MS = 500;

/** The attempts at one endpoint that failed since the last one that it took. Times are in milliseconds since any moment. */
export class FailureStreak {
  #failures = 0;
  #since = Number.POSITIVE_INFINITY;
  // Two are enough to know that it is not one visitor's fault.
  readonly #visitors = new Set<string>();
  #costly = 0;

  /** When the first of them began; infinite where there is none. */
  get since(): number {
    return this.#since;
  }

  /** How many of them cost an event: it may have been taken, and is held. */
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
   * Whether the endpoint takes nothing: of many events, or for long, and of different visitors. Where each costs an event, two
   * are enough.
   *
   * @param longMs what is long for this endpoint.
   */
  isOutage(now: number, isCostly: boolean, longMs: number): boolean {
    const isLong = now - this.#since >= Math.max(SHORTEST_OUTAGE_MS, longMs);
    return this.#visitors.size > 1 && (isCostly || isLong || this.#failures >= FAILURES_OF_AN_OUTAGE);
  }

  /** An event was taken. */
  end(): void {
    this.#failures = 0;
    this.#since = Number.POSITIVE_INFINITY;
    this.#visitors.clear();
    this.#costly = 0;
  }
}
