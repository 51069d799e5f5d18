import type { OutboxEvent } from "../../events.js";
import type { Death } from "../../outbox/dead-letters.js";
import type { Outbox } from "../../outbox/outbox.js";
import { RecordingDelivery, until } from "./recorder.js";
import { DESTINATION } from "./samples.js";

export const REJECTED: Death = {
  reason: "rejected",
  status: 422,
  code: "Unprocessable Entity",
  message: "no such program",
  attempts: 1,
};

/** One test's outbox, and the delivery that it hands events over to once it is started. Closes both at its end. */
export class Stage implements AsyncDisposable {
  readonly delivery: RecordingDelivery;
  /** Whether stored events outlive the process. Read at the start: `durable` is false while events wait in memory. */
  readonly #survives: boolean;
  #closing: Promise<void> | undefined;

  private constructor(
    readonly outbox: Outbox,
    destination: number,
  ) {
    this.delivery = new RecordingDelivery(destination);
    this.#survives = outbox.durable === true;
  }

  /** @param destination whose events are delivered. */
  static async open(create: () => Outbox | Promise<Outbox>, destination = DESTINATION): Promise<Stage> {
    return new Stage(await create(), destination);
  }

  start(): void {
    this.delivery.start(this.outbox);
  }

  /** Starts, and takes no event until `release`. */
  hold(): void {
    this.delivery.capacity = 0;
    this.start();
  }

  release(): void {
    this.delivery.capacity = Number.POSITIVE_INFINITY;
    this.outbox.wake();
  }

  /** Resolves once the events are stored. */
  async add(...events: readonly OutboxEvent[]): Promise<void> {
    for (const event of events) {
      const outcome = await this.outbox.add(event);
      if (outcome === "queued") continue;
      // On a busy machine the storage may answer later than the receipt.
      if (outcome === "in-memory") {
        const isStored = () => this.outbox.durable || this.delivery.expectsFailures;
        if (this.#survives) await until(isStored, "events were not stored");
        continue;
      }
      throw new Error(`expected the event to be queued, and it was ${outcome}`);
    }
  }

  /** Adds events and gives them up, one after the other. */
  async giveUp(events: readonly OutboxEvent[], death: Death = REJECTED): Promise<void> {
    if (!this.delivery.started) this.start();
    for (const event of events) {
      const before = this.outbox.counts().dead[death.reason];
      await this.add(event);
      (await this.delivery.next()).settle({ type: "dead", ...death });
      await until(() => this.outbox.counts().dead[death.reason] > before, "a dead letter was not counted");
    }
  }

  /** Resolves once the counts say that so many are queued. Counts may be moments old. */
  holds(queued: number): Promise<void> {
    return until(() => this.outbox.counts().queued === queued, `not ${queued} events were queued`);
  }

  /** Resolves once nothing is queued. */
  empty(): Promise<void> {
    return this.holds(0);
  }

  close(): Promise<void> {
    this.#closing ??= this.outbox.close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.delivery.close();
    await this.close();
  }
}
