import type { Lane } from "../outbox/outbox.js";
import type { Attempt } from "../service/attempt.js";
import type { watchAttempt } from "./attempt-watch.js";
import type { KnownOutage } from "./endpoint-health.js";
import type { Finding } from "./finding.js";
import type { Health, Ticket } from "./health.js";

const NOTHING: Finding = { type: "nothing" };

/** How far one attempt has come, and what it holds. Whatever it still holds when it has ended, `giveBack` returns. */
export class Progress {
  /** Whether the request may have been written to a connection. */
  hasLeft = false;
  /** How the attempt has ended, once it has. */
  attempt: Attempt | undefined;
  /** Whether the endpoint has taken other visitors' events since the last attempt at this one. */
  othersPassed = false;
  /** Whether a failure may be the event's own fault, and not the service's. */
  isOwn = true;
  readonly #health: Health;
  #ticket: Ticket | undefined;
  #watch: ReturnType<typeof watchAttempt> | undefined;

  constructor(health: Health) {
    this.#health = health;
  }

  /** Takes a slot. `undefined` if the lane has closed since the event was claimed. */
  begin(lane: Lane, now: number): Ticket | undefined {
    this.#ticket = this.#health.begin(lane, now);
    return this.#ticket;
  }

  /** Tells the other processes how the attempt ends. */
  watchBy(watch: ReturnType<typeof watchAttempt>): void {
    this.#watch = watch;
  }

  /** @param isOutage whether this process has paused the endpoint by then. */
  end(finding: Finding, now: number, isOutage: () => boolean = () => false): void {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    if (ticket) this.isOwn = this.#health.end(ticket, finding, now);
    const watch = this.#watch;
    this.#watch = undefined;
    watch?.end(finding, isOutage());
  }

  /** Another process has found an outage, which forbids the attempt. */
  forbid(outage: KnownOutage): void {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    if (ticket) this.#health.forbid(ticket, outage);
  }

  giveBack(): void {
    // The time does not matter to a finding that says nothing.
    this.end(NOTHING, 0);
  }
}
