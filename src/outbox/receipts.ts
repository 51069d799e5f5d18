import type { Clock } from "../shared/clock.js";
import { LinkedList, type ListLinks } from "../shared/linked-list.js";
import type { AddOutcome } from "./outbox.js";

/** How long a caller of `add` waits at most. Tests on real storages raise it. */
export const receiptTimes = { withinMs: 1_000 };

export interface OpenReceipt extends ListLinks<OpenReceipt> {
  readonly outcome: Promise<AddOutcome>;
  readonly dueAt: number;
  readonly resolve: (outcome: AddOutcome) => void;
  isAnswered: boolean;
}

/** What callers of `add` wait for: within a second; `in-memory` if the storage has not answered. */
export class Receipts {
  /** Those due first come first, so that one timer is enough. */
  readonly #awaited = new LinkedList<OpenReceipt>();
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(): OpenReceipt {
    let resolve: OpenReceipt["resolve"] = () => {};
    const outcome = new Promise<AddOutcome>((settle) => {
      resolve = settle;
    });
    const dueAt = this.#clock.monotonic() + receiptTimes.withinMs;
    const receipt: OpenReceipt = {
      outcome,
      dueAt,
      resolve,
      isAnswered: false,
      before: undefined,
      after: undefined,
    };
    this.#awaited.append(receipt);
    this.#cancel ??= this.#clock.after(receiptTimes.withinMs, () => this.#answerDue());
    return receipt;
  }

  /** Returns whether it still waited. */
  answer(receipt: OpenReceipt, outcome: AddOutcome): boolean {
    if (receipt.isAnswered) return false;
    receipt.isAnswered = true;
    this.#awaited.remove(receipt);
    receipt.resolve(outcome);
    return true;
  }

  end(): void {
    this.#cancel?.();
  }

  #answerDue(): void {
    this.#cancel = undefined;
    const now = this.#clock.monotonic();
    for (let first = this.#awaited.first; first; first = this.#awaited.first) {
      if (first.dueAt > now) {
        this.#cancel = this.#clock.after(first.dueAt - now, () => this.#answerDue());
        return;
      }
      this.answer(first, "in-memory");
    }
  }
}
