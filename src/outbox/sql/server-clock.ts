import type { Clock } from "../../shared/clock.js";

// For clocks that do not run alike, and for a clock that is corrected by a little.
const SLACK_MS = 1_000;

/**
 * What a process knows of its server's clock, which may be set ahead or back at any moment. All times are in milliseconds.
 *
 * @param patienceMs how long the clock has to stay where it was set before it is believed: until then each process that lives has
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

  /** The latest time that it can show now, unless it was set lately; `null` where it was never asked. */
  get latest(): number | null {
    if (!this.#believed) return null;
    return this.#believed.now + this.#clock.monotonic() - this.#believed.askedAt + SLACK_MS;
  }

  /**
   * Takes in what it shows.
   *
   * @param askedAt by the monotonic clock, before the server was asked.
   * @returns whether it has been set back since it was last asked; the first time, `true`: it is not known.
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
