const MOST = 5;

/**
 * Trials of a paused endpoint that newcomers may make at once: five can be saved, also before the outage, and one is saved
 * every second at first, every 5 s later. So the first event that the endpoint would take is not the last to try.
 *
 * Knows no clock: the time comes with each question, in milliseconds since any moment.
 */
export class SavedTrials {
  #number = MOST;
  #at = Number.NEGATIVE_INFINITY;

  /** Whether there is one, in an outage since that time. */
  has(now: number, since: number): boolean {
    return this.#numberAt(now, since) >= 1;
  }

  spend(now: number, since: number): void {
    this.#number = this.#numberAt(now, since) - 1;
    this.#at = now;
  }

  /** When there is one: now, or later. */
  nextAt(now: number, since: number): number {
    const missing = 1 - this.#numberAt(now, since);
    return missing <= 0 ? now : now + missing * savingMs(now, since);
  }

  #numberAt(now: number, since: number): number {
    return Math.min(MOST, this.#number + (now - this.#at) / savingMs(now, since));
  }
}

/** How long it takes to save one. */
function savingMs(now: number, since: number): number {
  return clamp((now - since) / 10, 1_000, 5_000);
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
