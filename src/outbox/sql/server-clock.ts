import type { Clock } from "../../shared/clock.js";

// For clocks that do not run alike, and for a clock that is corrected by a little.
const SLACK_MS = 1_000;

/**
 * Follows the server's clock, which may be set ahead or back at any moment. All times are in milliseconds.
 *
 * @param patienceMs how long a clock that was set has to stay so before it is believed: by then each running process has
 *   renewed its leases by it.
 */
export class ServerClock {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #patienceMs: number;
  #believed: { readonly now: number; readonly askedAt: number } | undefined;
  #last: { readonly now: number; readonly toldAt: number } | undefined;
  #aheadSince: number | undefined;

  constructor(clock: Pick<Clock, "monotonic">, patienceMs: number) {
    this.#clock = clock;
    this.#patienceMs = patienceMs;
  }

  /** The latest time that the clock can show now, unless it was set lately; `null` before the server was asked. */
  get latest(): number | null {
    if (!this.#believed) return null;
    return this.#believed.now + this.#clock.monotonic() - this.#believed.askedAt + SLACK_MS;
  }

  /**
   * Takes a time that the server has shown.
   *
   * @param askedAt by the monotonic clock, before the server was asked.
   * @returns whether the clock has been set back since it was last asked; the first time, when that is unknown, `true`.
   */
  tell(now: number, askedAt: number): boolean {
    const toldAt = this.#clock.monotonic();
    const wasSetBack = !this.#last || now < this.#last.now + askedAt - this.#last.toldAt - SLACK_MS;
    this.#last = { now, toldAt };
    this.#aheadSince = this.latest !== null && now > this.latest ? (this.#aheadSince ?? askedAt) : undefined;
    if (this.#aheadSince === undefined || toldAt - this.#aheadSince >= this.#patienceMs) {
      this.#believed = { now, askedAt };
      this.#aheadSince = undefined;
    }
    return wasSetBack;
  }
}
