import type { EventKind, OutboxEvent } from "../conversion/events.js";
import type { AmbiguousPolicy } from "../conversion/kinds.js";
import type { Claim, Verdict } from "../outbox/outbox.js";
import type { Attempt } from "../service/attempt.js";
import { callFor } from "../service/calls.js";
import { byEndpoint, kindOf } from "../service/endpoints.js";
import { detached } from "../shared/own-context.js";
import { detailsOf } from "./details.js";
import type { Ticket } from "./endpoint-health.js";
import { Health } from "./health.js";
import { findingOf, interruption, mayHaveBeenTaken, postponed, verdictOn } from "./meaning.js";
import { BODY_MS, outcomeOf, pauseReasonOf } from "./outcome.js";
import { type ConfirmReferral, createReferralCheck } from "./referral.js";
import { createWatch, type WatchOptions } from "./watch.js";
import { PROCESSES_APART_MS } from "./when-again.js";

export interface DeliveryOptions extends WatchOptions {
  /** The `Idempotency-Key` of an event. */
  readonly keyOf: (event: OutboxEvent) => string;
  readonly concurrency: number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  /** Default: `never`. */
  readonly confirmReferral?: ConfirmReferral;
  readonly random?: () => number;
}

export type Delivery = ReturnType<typeof createDelivery>;

const NONE = { limit: 0, lanes: [] };

const NO_JSON =
  "the service takes events, and answers with something that is no JSON: whether it says no there cannot be read";
const NO_STATUS =
  "the status endpoint answers with something that is no status: customers who are known by a login session alone " +
  'are not reported until it does; check `baseUrl`, or set `confirmReferral: "never"`';

/** Delivers events to the service as far as the health of its endpoints allows. */
export function createDelivery(options: DeliveryOptions) {
  const { transport, calls, keyOf, concurrency, maxAgeMs, ambiguous, journal, hide, clock } = options;
  const { random = Math.random, confirmReferral: mode = "never" } = options;
  const isHeld = (kind: EventKind) => ambiguous[kind] === "hold";
  const apartMs = options.unanswered && random() * PROCESSES_APART_MS;
  const health = new Health(concurrency, (endpoint) => isHeld(kindOf(endpoint)), apartMs);
  const watch = createWatch(health, options);
  const referral = createReferralCheck({ transport, calls, mode, clock });
  /** When each endpoint last took an event, in milliseconds since the epoch. */
  const passedAt = byEndpoint(() => 0);
  const tellOnce = (line: string) => journal.once(line, line);
  let inFlight = 0;
  let stopped = false;

  /** If anything throws, rejects: then the outbox takes the event for one that may have been sent. */
  async function deliver(claim: Claim): Promise<Verdict> {
    if (claim.interrupted && isHeld(claim.event.kind)) return interruption(claim);
    const ticket = stopped ? undefined : health.begin(claim.lane, clock.monotonic());
    if (!ticket) return { type: "release" };
    inFlight++;
    try {
      return await attempt(claim, ticket);
    } finally {
      inFlight--;
      health.end(ticket, { type: "nothing" }, clock.monotonic());
      watch.schedulePoll();
    }
  }

  async function attempt(claim: Claim, ticket: Ticket): Promise<Verdict> {
    // Its slot is taken. The disk outbox first asks for the next events: its thread works while this
    // one is sent.
    await undefined;
    if (stopped) return { type: "release" };
    const begins = () => journal.attempt(claim.event, claim.history.attempts + 1, clock.now());
    const isAsked = referral.isDue(claim.event);
    if (isAsked) begins();
    const verdict = isAsked && (await confirm(claim, ticket));
    if (verdict) return verdict;
    // Last: an event that is skipped costs nothing.
    if (ticket.health.hasToLook(clock.monotonic())) await watch.look(claim.lane.endpoint);
    if (stopped || ticket.health.forbids(ticket, clock.monotonic())) return { type: "release" };
    if (!isAsked) begins();
    return send(claim, ticket);
  }

  /** Asks whether the event may be sent. If not, resolves to its verdict. */
  async function confirm(claim: Claim, ticket: Ticket): Promise<Verdict | undefined> {
    const answer = await referral.ask(claim.event);
    if (answer.type === "referred") return undefined;
    if (answer.type === "not-referred") return { type: "delivered", isSkipped: true };
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
    watch.report(ended.details);
    return postponed(ended, isOfEvent);
  }

  async function send(claim: Claim, ticket: Ticket): Promise<Verdict> {
    const { event, lane } = claim;
    const call = { ...callFor(event, calls), idempotencyKey: keyOf(event) };
    const mayLeave = () => claim.isLeased?.() ?? true;
    const answer = await transport.send(call, { mayLeave, bodyMs: BODY_MS });
    const ended = endedWith(claim, answer, mayHaveBeenTaken(claim));
    const { outcome, othersPassed, details } = ended;
    const finding = findingOf(ended);
    const isOfEvent = health.end(ticket, finding, clock.monotonic());
    if (finding.type === "pass") passedAt[lane.endpoint] = clock.now();
    if (answer.type === "answer" && answer.isUnreadable) tellOnce(NO_JSON);
    watch.report(details);
    if (outcome.type === "refused" && !othersPassed && !ticket.health.pauseAt(clock.monotonic())) {
      journal.refused(lane.endpoint, pauseReasonOf(answer), details().message);
    }
    return verdictOn(ended, isOfEvent);
  }

  function endedWith(claim: Claim, attempt: Attempt, maybeTaken: boolean) {
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

  function settled(event: OutboxEvent, attempts: number, verdict: Verdict): void {
    if (verdict.type === "delivered" && verdict.isSkipped) {
      journal.skipped(event.kind, "not-referred", event);
    } else if (verdict.type === "delivered") {
      journal.delivered(event, attempts + 1, event.kind === "click" ? undefined : verdict.leadId);
    } else if (verdict.type === "retry" && verdict.history.attempts > attempts) {
      journal.retry(event, verdict.history.attempts, verdict.inMs, verdict.because ?? "");
    } else if (verdict.type === "dead") {
      const { type: _, ...death } = verdict;
      journal.dead(event, death);
    }
  }

  return {
    capacity: () => (stopped ? NONE : health.capacity(clock.monotonic())),
    // An outbox may call both in some visitor's async context.
    deliver: detached(deliver),
    // Reported once the verdict is stored: nothing depends on it any more.
    settled: detached(settled),
    get inFlight() {
      return inFlight;
    },
    get endpoints() {
      return watch.endpoints;
    },
    /** Begins no more attempts. Events that were not sent stay for the next process. */
    stop() {
      stopped = true;
      watch.stop();
    },
  };
}
