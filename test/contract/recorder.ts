import type { OutboxEvent } from "../../src/conversion/events.js";
import type { Outbox, OutboxObserver } from "../../src/outbox/outbox.js";
import {
  type Claim,
  type Deliver,
  type History,
  type Lane,
  UNTRIED,
  type Verdict,
} from "../../src/outbox/outbox.js";
import { ENDPOINTS } from "../../src/service/endpoints.js";

// A storage that fails again and again is left alone for 1, 2, 4, then 8 s.
const PATIENCE_MS = 18_000;

/** An event that waits for its verdict. */
export interface Handed {
  readonly live: Claim;
  readonly id: string;
  settle(verdict: Verdict): void;
}

/** After a failed attempt, the event's first unless the history says otherwise. */
export function retryIn(inMs: number, history: Partial<History> = {}): Verdict {
  return {
    type: "retry",
    inMs,
    history: { ...UNTRIED, attempts: 1, failures: 1, triedAt: Date.now(), ...history },
  };
}

/** A `deliver` that does what a test says. */
export class RecordingDelivery {
  /** How many more events may be sent. */
  capacity = Number.POSITIVE_INFINITY;
  /** Which may be sent, the most urgent first. */
  lanes: readonly Lane[] = ENDPOINTS.map((endpoint) => ({ endpoint, limit: Number.POSITIVE_INFINITY }));
  started = false;
  /** Whether the storage may fail. */
  expectsFailures = false;
  /** The id of every event that delivery got, in order. */
  readonly ids: string[] = [];
  /** The calls of `settled`. */
  readonly told: { readonly id: string; readonly attempts: number; readonly verdict: Verdict }[] = [];
  readonly dropped: { readonly event: OutboxEvent; readonly reason: string }[] = [];
  readonly #arrived: Handed[] = [];
  readonly #awaited: ((handed: Handed) => void)[] = [];
  #listener: ((handed: Handed) => void) | undefined;
  readonly #unsettled = new Set<Handed>();

  start(outbox: Outbox): void {
    this.started = true;
    const deliver: Deliver = {
      capacity: () => ({ limit: this.capacity, lanes: this.capacity > 0 ? this.lanes : [] }),
      deliver: (claim) => this.#take(claim),
      settled: ({ id }, attempts, verdict) => this.told.push({ id, attempts, verdict }),
    };
    const observer: OutboxObserver = {
      dropped: (event, reason) => this.dropped.push({ event, reason }),
      degraded() {},
      recovered() {},
    };
    outbox.start(deliver, observer);
  }

  /** The next event that comes. */
  async next(): Promise<Handed> {
    const arrived = this.#arrived.shift();
    return (
      arrived ?? inTime(new Promise((resolve) => this.#awaited.push(resolve)), "no event was handed over")
    );
  }

  /** Delivers the next event at once. Resolves to its id. */
  async deliverNext(): Promise<string> {
    const { id, settle } = await this.next();
    settle({ type: "delivered" });
    return id;
  }

  /** Calls the listener with each event from now on. */
  each(listener: (handed: Handed) => void): void {
    this.#listener = listener;
  }

  /** Releases its events, and takes no more. */
  close(): void {
    this.capacity = Number.NEGATIVE_INFINITY;
    for (const { settle } of this.#unsettled) settle({ type: "release" });
  }

  #take(live: Claim): Promise<Verdict> {
    this.ids.push(live.event.id);
    this.capacity--;
    return new Promise((resolve) => {
      const handed: Handed = {
        live,
        id: live.event.id,
        settle: (verdict) => {
          this.#unsettled.delete(handed);
          this.capacity++;
          resolve(verdict);
        },
      };
      this.#unsettled.add(handed);
      const awaited = this.#listener ?? this.#awaited.shift();
      if (awaited) awaited(handed);
      else this.#arrived.push(handed);
    });
  }
}

/** Polls, for changes that an outbox does not announce. */
export async function until(condition: () => boolean, otherwise: string | (() => string)): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) {
      throw new Error(`${typeof otherwise === "string" ? otherwise : otherwise()} for ${PATIENCE_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function inTime<T>(promise: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} for ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
