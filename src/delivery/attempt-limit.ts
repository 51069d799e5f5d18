const PROVEN_MS = 60_000;

/**
 * How many attempts at one endpoint may be under way at once. As in TCP's congestion control, a
 * success adds one and a failure halves it. Has no clock: each call gives the time.
 */
export class AttemptLimit {
  readonly #most: number;
  #limit: number;
  /** Until then the endpoint gets more than one attempt at once. */
  #provenUntil: number;

  /** @param hasToProveItself whether it is 1 until the endpoint has taken an event. */
  constructor(most: number, hasToProveItself: boolean) {
    this.#most = most;
    this.#limit = most;
    this.#provenUntil = hasToProveItself ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }

  /** Whether nothing has lowered it. */
  get isWhole(): boolean {
    return this.#limit === this.#most;
  }

  at(now: number): number {
    return now < this.#provenUntil ? this.#limit : 1;
  }

  /** The endpoint has taken an event. */
  prove(now: number): void {
    this.#provenUntil = Math.max(this.#provenUntil, now + PROVEN_MS);
  }

  grow(): void {
    this.#limit = Math.min(this.#most, this.#limit + 1);
  }

  halve(): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }

  reset(): void {
    this.#limit = 1;
  }
}
