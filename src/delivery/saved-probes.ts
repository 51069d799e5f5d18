import { savedProbeMs } from "./when-again.js";

const MOST_SAVED = 5;

/**
 * The probes of a paused endpoint that never-tried events may make at once: a token bucket. At most
 * five are saved, also before the outage: one every second at first, one every 5 s later. So an
 * event that the endpoint would take need not wait until all others have tried. Has no clock.
 */
export class SavedProbes {
  #number = MOST_SAVED;
  #at = Number.NEGATIVE_INFINITY;

  /** Whether there is one, in an outage that began at `since`. */
  has(now: number, since: number): boolean {
    return this.#numberAt(now, since) >= 1;
  }

  spend(now: number, since: number): void {
    this.#number = this.#numberAt(now, since) - 1;
    this.#at = now;
  }

  /** When the next one is there: now, or later. */
  nextAt(now: number, since: number): number {
    const missing = 1 - this.#numberAt(now, since);
    return missing <= 0 ? now : now + missing * savedProbeMs(now - since);
  }

  #numberAt(now: number, since: number): number {
    return Math.min(MOST_SAVED, this.#number + (now - this.#at) / savedProbeMs(now - since));
  }
}
