import type { Clock } from "../shared/clock.js";
import { type InLine, Line } from "../shared/line.js";
import type { AddOutcome } from "./outbox.js";

const WITHIN_MS = 1_000;

/** A receipt that a caller of `add` waits for. */
export interface OpenReceipt extends InLine<OpenReceipt> {
  readonly outcome: Promise<AddOutcome>;
  readonly dueAt: number;
  readonly resolve: (outcome: AddOutcome) => void;
  isAnswered: boolean;
}

/** The receipts that callers of `add` wait for. Each is answered within a second: with `in-memory` where the storage has not answered. */
export class Receipts {
  /** Those due first come first. One timer is enough for all. */
  readonly #awaited = new Line<OpenReceipt>();
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
    const dueAt = this.#clock.monotonic() + WITHIN_MS;
    const receipt: OpenReceipt = {
      outcome,
      dueAt,
      resolve,
      isAnswered: false,
      before: undefined,
      after: undefined,
    };
    this.#awaited.join(receipt);
    this.#cancel ??= this.#clock.after(WITHIN_MS, () => this.#answerDue());
    return receipt;
  }

  /** Returns whether it was still due. */
  answer(receipt: OpenReceipt, outcome: AddOutcome): boolean {
    if (receipt.isAnswered) return false;
    receipt.isAnswered = true;
    this.#awaited.leave(receipt);
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
