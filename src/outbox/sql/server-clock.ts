import type { Clock } from "../../shared/clock.js";

// For clocks that do not run alike, or are corrected by a little.
const SLACK_MS = 1_000;

/**
 * Follows the server's clock, which may be set ahead or back at any moment, in milliseconds. A
 * clock that was set is believed once it has stayed so for `patienceMs`: by then each process has
 * renewed its leases by it.
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

  /** The latest that the clock can show, unless it was set lately; `null` before it was asked. */
  get latest(): number | null {
    if (!this.#believed) return null;
    return this.#believed.now + this.#clock.monotonic() - this.#believed.askedAt + SLACK_MS;
  }

  /**
   * Takes a time that the server has shown, asked for at `askedAt` by the monotonic clock.
   *
   * @returns whether the clock has been set back since; `true` the first time, when it is unknown.
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
