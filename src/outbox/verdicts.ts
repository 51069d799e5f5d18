import type { Clock } from "../shared/clock.js";
import type { Claim, Verdict } from "./claim.js";
import type { StorageState } from "./storage-state.js";

/** Wakes the relay when an event may be tried again before the next poll. */
export function wakeForRetry(
  verdict: Verdict,
  { pollMs, clock, wake }: { pollMs: number; clock: Pick<Clock, "after">; wake: () => void },
): void {
  if (verdict.type === "retry" && verdict.inMs < pollMs) clock.after(verdict.inMs, wake);
}

interface Settling<C> {
  readonly claim: C;
  readonly verdict: Verdict;
  resolve(isActedOn: boolean): void;
}

/** Stores claimed events' verdicts: at once, or after the storage has recovered. */
export class Verdicts<C extends Claim> {
  readonly #storage: { settle(claim: C, verdict: Verdict): Promise<unknown> };
  readonly #state: StorageState;
  readonly #waiting: Settling<C>[] = [];
  /** On their way to the storage. */
  #underWay = 0;
  #onSettled = () => {};
  #isEnded = false;

  constructor(storage: { settle(claim: C, verdict: Verdict): Promise<unknown> }, state: StorageState) {
    this.#storage = storage;
    this.#state = state;
  }

  /** Whether a verdict waits for the storage. */
  get areWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when stored; to `false` if it had no effect, or was not stored before the end. */
  async settle(claim: C, verdict: Verdict): Promise<boolean> {
    if (!this.#state.isUsable) return this.#remember(claim, verdict);
    this.#underWay++;
    try {
      return await this.#store(claim, verdict);
    } catch (error) {
      const stored = this.#remember(claim, verdict);
      this.#state.fails("settle", error);
      return stored;
    } finally {
      this.#underWay--;
      if (this.#underWay === 0) this.#onSettled();
    }
  }

  /** Stores the first that waits. If that fails, rejects, and it keeps waiting. */
  async storeFirst(): Promise<void> {
    const { claim, verdict, resolve } = this.#waiting[0] as Settling<C>;
    resolve(await this.#store(claim, verdict));
    this.#waiting.shift();
  }

  /** Resolves when none is on its way to the storage. Called once. */
  async settled(): Promise<void> {
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#onSettled = resolve;
    });
  }

  /** Drops all waiting verdicts, and those to come. */
  end(): void {
    this.#isEnded = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve(false);
  }

  async #store(claim: C, verdict: Verdict): Promise<boolean> {
    const isActedOn = await this.#storage.settle(claim, verdict);
    this.#state.works("settle");
    return isActedOn !== false;
  }

  #remember(claim: C, verdict: Verdict): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#isEnded) resolve(false);
      else this.#waiting.push({ claim, verdict, resolve });
    });
  }
}
