import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import type { OutboxObserver } from "./outbox.js";

type StorageCall = "append" | "claim" | "settle";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
// If a storage fails again sooner, it has not recovered: the next pause is longer.
const LASTING_MS = 10_000;

interface StorageStateOptions {
  readonly clock: Clock;
  readonly observer: Pick<OutboxObserver, "degraded" | "recovered">;
  /** Tries whether the storage works again. */
  readonly attempt: () => void;
}

/** Judges a storage by its calls. A problem is over when a call of the kind that failed works. */
export class StorageState {
  readonly #options: StorageStateOptions;
  #problem: Error | undefined;
  #failed: StorageCall | undefined;
  #isUsable = true;
  #usableSince = Number.NEGATIVE_INFINITY;
  #pauseMs = FIRST_PAUSE_MS;
  #cancel = () => {};
  #isEnded = false;

  constructor(options: StorageStateOptions) {
    this.#options = options;
  }

  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Whether calls are made: the storage works, or it is time to try it. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** No other calls are made for a while. */
  fails(call: StorageCall, cause: unknown): void {
    if (!this.#isUsable) return;
    const { clock, observer } = this.#options;
    const isKnown = this.#problem !== undefined;
    const lasted = clock.monotonic() - this.#usableSince >= LASTING_MS;
    this.#pauseMs = lasted ? FIRST_PAUSE_MS : doubled(this.#pauseMs);
    this.#problem = errorFrom(cause);
    this.#failed = call;
    this.#isUsable = false;
    this.#scheduleAttempt();
    if (!isKnown) observer.degraded(this.#problem);
  }

  works(call: StorageCall): void {
    if (this.#failed === call) this.#failed = undefined;
    this.#reportRecovery();
  }

  /** The attempt has failed: the next is later. */
  staysUnusable(cause: unknown): void {
    this.#problem = errorFrom(cause);
    this.#pauseMs = doubled(this.#pauseMs);
    this.#scheduleAttempt();
  }

  /** The attempt has stored all that waited. */
  isUsableAgain(): void {
    this.#isUsable = true;
    this.#usableSince = this.#options.clock.monotonic();
    this.#reportRecovery();
  }

  end(): void {
    this.#isEnded = true;
    this.#cancel();
  }

  #reportRecovery(): void {
    if (!this.#problem || !this.#isUsable || this.#failed) return;
    this.#problem = undefined;
    this.#options.observer.recovered();
  }

  #scheduleAttempt(): void {
    if (!this.#isEnded) this.#cancel = this.#options.clock.after(this.#pauseMs, this.#options.attempt);
  }
}

function doubled(pauseMs: number): number {
  return Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
}
