import type { EventKind, OutboxEvent } from "../conversion/events.js";
import type { AmbiguousPolicy } from "../conversion/kinds.js";
import type { Journal } from "../journal/journal.js";
import type { Claim, Verdict } from "../outbox/claim.js";
import { type Attempt, unsendable } from "../service/attempt.js";
import { type Call, type Calls, callFor } from "../service/calls.js";
import { byEndpoint, type Endpoint } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import type { Clock } from "../shared/clock.js";
import { errorFrom } from "../shared/errors.js";
import { type Details, detailsOf } from "./details.js";
import type { Ticket } from "./endpoint-health.js";
import type { Health } from "./health.js";
import { type EndedAttempt, findingOf, mayHaveBeenTaken, postponed, verdictOn } from "./meaning.js";
import { outcomeOf, pauseReasonOf } from "./outcome.js";
import { type ConfirmReferral, ReferralCheck } from "./referral.js";

/** An answer counts once its head is there: no slot waits longer for a message or a lead id. */
export const BODY_MS = 1_000;

const NO_JSON =
  "the service takes events, and answers with something that is no JSON: whether it says no there cannot be read";
const NO_STATUS =
  "the status endpoint answers with something that is no status: customers who are known by a login session alone " +
  'are not reported until it does; check `baseUrl`, or set `confirmReferral: "never"`';

export interface AttemptOptions {
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  /** The `Idempotency-Key` of an event. */
  readonly keyOf: (event: OutboxEvent) => string;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  /** Default: `never`. */
  readonly confirmReferral?: ConfirmReferral;
  readonly journal: Journal;
  /** Removes from the service's words what must not be shown. */
  readonly hide: (text: string) => string;
  readonly clock: Clock;
  readonly random?: () => number;
}

interface Parts extends AttemptOptions {
  readonly health: Health;
  /** Tells `health` what other processes show of an endpoint. Never rejects. */
  readonly look: (endpoint: Endpoint) => Promise<void>;
  /** Reports pauses that have begun or ended to the journal. */
  readonly announce: (details: () => Details) => void;
  readonly hasStopped: () => boolean;
}

export function createAttempts(parts: Parts) {
  const { transport, calls, keyOf, maxAgeMs, ambiguous, journal, hide, clock, random = Math.random } = parts;
  const { health, look, announce, hasStopped } = parts;
  const { confirmReferral: mode = "never" } = parts;
  const referral = new ReferralCheck({ transport, calls, mode, bodyMs: BODY_MS });
  /** When each endpoint last took an event, in milliseconds since the epoch. */
  const passedAt = byEndpoint(() => 0);
  const tellOnce = (line: string) => journal.once("warn", line, line);

  /** If anything throws, rejects: then the outbox takes the event for one that may have been sent. */
  async function attempt(claim: Claim): Promise<Verdict> {
    const ticket = hasStopped() ? undefined : health.begin(claim.lane, clock.monotonic());
    if (!ticket) return { type: "release" };
    try {
      return await makeAttempt(claim, ticket);
    } finally {
      health.end(ticket, { type: "nothing" }, clock.monotonic());
    }
  }

  async function makeAttempt(claim: Claim, ticket: Ticket): Promise<Verdict> {
    const begins = () => journal.attempt(claim.event, claim.history.attempts + 1, clock.now());
    const isAsked = referral.isDue(claim.event);
    if (isAsked) begins();
    const verdict = isAsked && (await confirm(claim, ticket));
    if (verdict) return verdict;
    // Last: an event that is skipped costs nothing.
    if (ticket.health.hasToLook(clock.monotonic())) await look(claim.lane.endpoint);
    if (hasStopped() || ticket.health.forbids(ticket, clock.monotonic())) return { type: "release" };
    if (!isAsked) begins();
    return send(claim, ticket);
  }

  /** Asks whether the event may be sent. If not, resolves to its verdict. */
  async function confirm(claim: Claim, ticket: Ticket): Promise<Verdict | undefined> {
    const answer = await referral.ask(claim.event, clock);
    if (answer.type === "referred") return undefined;
    if (answer.type === "not-referred") return { type: "skipped", reason: answer.type };
    if (answer.type === "not-asked") {
      const history = { ...claim.history, maybeTaken: mayHaveBeenTaken(claim), triedAt: clock.now() };
      return { type: "retry", inMs: answer.forMs, history };
    }
    const ended = endedWith(claim, answer.attempt, false);
    if (answer.type === "unanswered") {
      journal.unconfirmed(ended.details().message);
      return undefined;
    }
    if (["delivered", "rejected", "refused"].includes(ended.outcome.type)) tellOnce(NO_STATUS);
    const type = ended.outcome.type === "unreachable" ? "unreachable" : "nothing";
    const isOfEvent = health.end(ticket, { type }, clock.monotonic());
    announce(ended.details);
    return postponed(ended, isOfEvent);
  }

  async function send(claim: Claim, ticket: Ticket): Promise<Verdict> {
    const { lane } = claim;
    const answer = await sent(claim);
    const ended = endedWith(claim, answer, mayHaveBeenTaken(claim));
    const { outcome, othersPassed, details } = ended;
    const finding = findingOf(ended);
    const isOfEvent = health.end(ticket, finding, clock.monotonic());
    if (finding.type === "pass") passedAt[lane.endpoint] = clock.now();
    if (answer.type === "answer" && answer.isUnreadable) tellOnce(NO_JSON);
    announce(details);
    if (outcome.type === "refused" && !othersPassed && !health.pauseAt(lane.endpoint, clock.monotonic())) {
      journal.refused(lane.endpoint, pauseReasonOf(answer), details().message);
    }
    return verdictOn(ended, isOfEvent);
  }

  async function sent(claim: Claim): Promise<Attempt> {
    const { event } = claim;
    let call: Call;
    try {
      call = { ...callFor(event, calls), idempotencyKey: keyOf(event) };
    } catch (error) {
      return unsendable(errorFrom(error));
    }
    return transport.send(call, { mayLeave: () => claim.isHeld?.() ?? true, bodyMs: BODY_MS });
  }

  function endedWith(claim: Claim, attempt: Attempt, maybeTaken: boolean): EndedAttempt {
    const { history, queuedAt } = claim;
    const { endpoint } = claim.lane;
    const now = clock.now();
    const outcome = outcomeOf(attempt, { maybeTaken, now });
    // The clock was set back: that time would be later than all attempts of an outage that follows.
    if (passedAt[endpoint] > now) passedAt[endpoint] = 0;
    const othersPassed = passedAt[endpoint] > (history.triedAt || queuedAt);
    const details = () => detailsOf(attempt, claim.event, { hide, now });
    return { claim, attempt, outcome, othersPassed, details, now, random, maxAgeMs, ambiguous };
  }

  return attempt;
}
