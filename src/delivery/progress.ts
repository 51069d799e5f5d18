import type { Lane } from "../outbox/claim.js";
import type { Attempt } from "../service/attempt.js";
import type { Ticket } from "./endpoint-health.js";
import type { Finding } from "./finding.js";
import type { Health } from "./health.js";

const NOTHING: Finding = { type: "nothing" };

/** How far one attempt has come, and what it holds: `release` returns what is left of that. */
export class Progress {
  /** Whether the request may have been written to a connection. */
  hasLeft = false;
  /** How the attempt has ended, once it has. */
  attempt: Attempt | undefined;
  /** Whether the endpoint has taken other visitors' events since the last attempt at this one. */
  othersPassed = false;
  /** Whether a failure may be the event's own fault, and not the service's. */
  isOfEvent = true;
  readonly #health: Health;
  #ticket: Ticket | undefined;

  constructor(health: Health) {
    this.#health = health;
  }

  /** Takes a slot. `undefined` if the lane has closed since the event was claimed. */
  begin(lane: Lane, now: number): Ticket | undefined {
    this.#ticket = this.#health.begin(lane, now);
    return this.#ticket;
  }

  end(finding: Finding, now: number): void {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    if (ticket) this.isOfEvent = this.#health.end(ticket, finding, now);
  }

  release(): void {
    // The time does not matter to a finding that says nothing.
    this.end(NOTHING, 0);
  }
}
