import type { Claim, Verdict } from "./outbox.js";
import type { StorageState } from "./storage-state.js";

interface Settling<C> {
  readonly claim: C;
  readonly verdict: Verdict;
  resolve(isActedOn: boolean): void;
}

/** What is to be done with claimed events: done at once where the storage works, and remembered where it does not. */
export class Verdicts<C extends Claim> {
  readonly #storage: { settle(claim: C, verdict: Verdict): Promise<unknown> };
  readonly #state: StorageState;
  readonly #waiting: Settling<C>[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #isEnded = false;

  constructor(storage: { settle(claim: C, verdict: Verdict): Promise<unknown> }, state: StorageState) {
    this.#storage = storage;
    this.#state = state;
  }

  /** Whether one waits until the storage has recovered. */
  get areWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when the verdict is stored; to `false` where it came to nothing, or was not stored before the end. */
  settle(claim: C, verdict: Verdict): Promise<boolean> {
    return new Promise((resolve) => {
      const each = { claim, verdict, resolve };
      if (!this.#state.isUsable) {
        this.#remember(each);
        return;
      }
      const call = this.#store(each).catch((error) => {
        this.#remember(each);
        this.#state.fails("settle", error);
      });
      this.#underWay.add(call);
      void call.then(() => this.#underWay.delete(call));
    });
  }

  /** Stores the first that waits. Rejects, and has it wait on, where that fails. */
  async storeFirst(): Promise<void> {
    await this.#store(this.#waiting[0] as Settling<C>);
    this.#waiting.shift();
  }

  /** Resolves when none is on its way to the storage. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** From here on none waits: those that do come to nothing. */
  end(): void {
    this.#isEnded = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve(false);
  }

  async #store({ claim, verdict, resolve }: Settling<C>): Promise<void> {
    const isActedOn = await this.#storage.settle(claim, verdict);
    this.#state.works("settle");
    resolve(isActedOn !== false);
  }

  #remember(each: Settling<C>): void {
    if (this.#isEnded) each.resolve(false);
    else this.#waiting.push(each);
  }
}
