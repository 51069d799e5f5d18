import type { Clock } from "../shared/clock.js";
import type { AddOutcome } from "./outbox.js";

const WITHIN_MS = 1_000;

interface Awaited {
  readonly dueAt: number;
  resolve(outcome: AddOutcome): void;
}

/** What the callers of `add` wait for. Each is answered within a second: where the storage has not answered, `in-memory`. */
export class Receipts<Key> {
  /** The first due first. One timer does for all of them. */
  readonly #awaited = new Map<Key, Awaited>();
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(key: Key): Promise<AddOutcome> {
    return new Promise((resolve) => {
      this.#awaited.set(key, { dueAt: this.#clock.monotonic() + WITHIN_MS, resolve });
      this.#cancel ??= this.#clock.after(WITHIN_MS, () => this.#answerDue());
    });
  }

  /** Returns whether it was still due. */
  answer(key: Key, outcome: AddOutcome): boolean {
    this.#awaited.get(key)?.resolve(outcome);
    return this.#awaited.delete(key);
  }

  /** Waits no more. */
  end(): void {
    this.#cancel?.();
  }

  #answerDue(): void {
    this.#cancel = undefined;
    const now = this.#clock.monotonic();
    for (const [key, { dueAt }] of this.#awaited) {
      if (dueAt > now) {
        this.#cancel = this.#clock.after(dueAt - now, () => this.#answerDue());
        return;
      }
      this.answer(key, "in-memory");
    }
  }
}
