import type { Lane } from "../outbox/claim.js";
import type { Attempt } from "../service/attempt.js";
import type { Ticket } from "./endpoint-health.js";
import type { Finding } from "./finding.js";
import type { Health } from "./health.js";
import type { KnownOutage } from "./outage.js";
import type { EndWatch } from "./shared-circuits.js";

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
  #endWatch: EndWatch | undefined;

  constructor(health: Health) {
    this.#health = health;
  }

  /** Takes a slot. `undefined` if the lane has closed since the event was claimed. */
  begin(lane: Lane, now: number): Ticket | undefined {
    this.#ticket = this.#health.begin(lane, now);
    return this.#ticket;
  }

  /** Reports to the other processes how the attempt ends. */
  watchBy(endWatch: EndWatch): void {
    this.#endWatch = endWatch;
  }

  end(finding: Finding, now: number): void {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    if (ticket) this.isOfEvent = this.#health.end(ticket, finding, now);
    const endWatch = this.#endWatch;
    this.#endWatch = undefined;
    endWatch?.(finding, ticket?.health.pause !== undefined);
  }

  forbid(outage: KnownOutage): void {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    if (ticket) this.#health.forbid(ticket, outage);
  }

  release(): void {
    // The time does not matter to a finding that says nothing.
    this.end(NOTHING, 0);
  }
}
