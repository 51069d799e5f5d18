import { type EventKind, type OutboxEvent, visitorOf } from "../events.js";
import type { EndpointState, Journal } from "../journal/journal.js";
import type { Circuits } from "../outbox/circuits.js";
import type { Claim, Deliver, Verdict } from "../outbox/outbox.js";
import type { AmbiguousPolicy, ConfirmReferral, JournalCall } from "../outbox/remote.js";
import type { Attempt } from "../service/attempt.js";
import { type Calls, callFor } from "../service/calls.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import type { Clock } from "../shared/clock.js";
import { createAnnouncer } from "./announcer.js";
import { watchAttempt } from "./attempt-watch.js";
import { type Details, detailsOf } from "./details.js";
import type { Finding, StatusAnswer } from "./finding.js";
import { Health, type Ticket } from "./health.js";
import { isOfGateway, type Outcome, outcomeOf, pauseReasonOf } from "./outcome.js";
import { ReferralCheck } from "./referral.js";
import { SharedCircuits } from "./shared-circuits.js";
import {
  type Circumstances,
  interruption,
  isAskedAlone,
  mayBeTaken,
  postponed,
  verdictOn,
} from "./verdict.js";

/** The part of the journal that delivery calls. */
export type DeliveryJournal = Pick<Journal, JournalCall[0]>;

export interface DeliveryOptions {
  /** Whose events are delivered: a client id. */
  readonly destination: number;
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  readonly concurrency: number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  /** Default: `never`. */
  readonly confirmReferral?: ConfirmReferral;
  /** What processes on one storage know together. Without it, each goes by what it has itself seen. */
  readonly circuits?: Circuits | undefined;
  readonly journal: DeliveryJournal;
  /** Removes from the service's words what must not be shown. */
  readonly hide: (text: string) => string;
  /** There is new capacity: more events may be claimed. */
  readonly onCapacity: () => void;
  readonly clock: Clock;
  readonly random?: () => number;
}

export interface Delivery extends Deliver {
  readonly inFlight: number;
  /** The present state of each endpoint. */
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** Begins no more attempts. Events that were not sent stay for the next process. */
  stop(): void;
}

const NONE = { limit: 0, lanes: [] };

/** An answer counts once its head has arrived. The body has a message or a lead id at best: no slot waits longer for it. */
const BODY_MS = 1_000;

// Read-only, and about no visitor: the service only has to answer.
const PROBE_SESSION = "express-affiliate-probe";

/** Takes events to the service, one attempt at a time, as far as the health of its endpoints allows. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { destination, transport, calls, concurrency, ambiguous, journal, hide, onCapacity, clock } = options;
  const { random = Math.random, confirmReferral = "never" } = options;
  const isCostly = (endpoint: Endpoint) => ambiguous[kindOf(endpoint)] === "hold";
  const health = new Health(concurrency, isCostly, { isShared: options.circuits !== undefined });
  const announcer = createAnnouncer(health, journal, clock);
  const referral = new ReferralCheck({ transport, calls, mode: confirmReferral, bodyMs: BODY_MS });
  const circuits =
    options.circuits &&
    new SharedCircuits(options.circuits, {
      destination,
      clock,
      onNews(endpoint, outage) {
        health.learn(endpoint, outage);
        announcer.tell(() => ({ message: "another process on this storage had no answer" }));
        onCapacity();
        lookLater();
      },
    });
  /** When each endpoint last took an event, in milliseconds since the epoch. */
  const passedAt = Object.fromEntries(ENDPOINTS.map((name) => [name, 0])) as Record<Endpoint, number>;
  let inFlight = 0;
  let stopped = false;
  let cancelLook = () => {};

  async function deliver(claim: Claim): Promise<Verdict> {
    if (claim.interrupted && ambiguous[claim.event.kind] === "hold") return interruption(claim);
    const ticket = stopped ? undefined : health.begin(claim.lane, clock.monotonic());
    if (!ticket) return { type: "release" };
    inFlight++;
    const verdict = await attempt(claim, ticket);
    inFlight--;
    lookLater();
    return verdict;
  }

  async function circuitForbids({ lane }: Claim, ticket: Ticket): Promise<Verdict | undefined> {
    if (!circuits || !isCostly(lane.endpoint)) return undefined;
    const outage = await circuits.forbids(lane.endpoint, ticket.isHurried);
    if (outage) health.forbid(ticket, outage);
    else if (stopped) health.end(ticket, { type: "nothing" }, clock.monotonic());
    else return undefined;
    return { type: "release" };
  }

  async function attempt(claim: Claim, ticket: Ticket): Promise<Verdict> {
    const begins = () => journal.attempt(claim.event, claim.history.attempts + 1, clock.now());
    const isAsked = referral.isDue(claim.event);
    if (isAsked) begins();
    // Last, because it takes the trial of all processes: an event that is skipped needs none.
    const verdict = (isAsked && (await confirm(claim, ticket))) || (await circuitForbids(claim, ticket));
    if (verdict) return verdict;
    if (!isAsked) begins();
    return send(claim, ticket);
  }

  async function send(claim: Claim, ticket: Ticket): Promise<Verdict> {
    const { endpoint } = claim.lane;
    const mayLeave = () => claim.isHeld?.() ?? true;
    const {
      beganAt,
      health: { patienceMs },
    } = ticket;
    const watch =
      circuits && isCostly(endpoint)
        ? watchAttempt(circuits, clock, { endpoint, beganAt, patienceMs })
        : undefined;
    const attempt = await transport.send(callFor(claim.event, calls), { mayLeave, bodyMs: BODY_MS });
    const outcome = outcomeOf(attempt, { maybeTaken: mayBeTaken(claim), now: clock.now() });
    const othersPassed = hasPassedSince(claim);
    const finding = findingOf(claim, outcome, attempt, othersPassed);
    const isOwn = health.end(ticket, finding, clock.monotonic());
    watch?.end(finding, health.pauseOf(endpoint) !== undefined);
    if (finding.type === "pass") passedAt[endpoint] = clock.now();
    announcer.tell(() => details(attempt, claim.event));
    if (outcome.type === "refused" && !othersPassed && !health.pauseOf(endpoint)) {
      journal.refused(endpoint, pauseReasonOf(attempt), details(attempt, claim.event).message);
    }
    return verdictOn(claim, outcome, circumstancesOf(claim, attempt, isOwn, othersPassed), options);
  }

  /** Asks whether the event may be sent. Resolves to `undefined` if it may, else to its verdict. */
  async function confirm(claim: Claim, ticket: Ticket): Promise<Verdict | undefined> {
    const answer = await referral.ask(claim.event, clock.monotonic);
    if (answer.type === "referred") return undefined;
    if (answer.type === "unanswered") {
      journal.unconfirmed(details(answer.attempt, claim.event).message);
      return undefined;
    }
    if (answer.type === "not-referred" || answer.type === "not-asked") {
      health.end(ticket, { type: "nothing" }, clock.monotonic());
      if (answer.type === "not-referred") return { type: "skipped", reason: answer.type };
      return { type: "retry", inMs: answer.forMs, history: { ...claim.history, triedAt: clock.now() } };
    }
    const { attempt } = answer;
    const outcome = outcomeOf(attempt, { maybeTaken: false, now: clock.now() });
    const type = outcome.type === "unreachable" ? outcome.type : "nothing";
    const isOwn = health.end(ticket, { type }, clock.monotonic());
    announcer.tell(() => details(attempt, claim.event));
    return postponed(claim, outcome, circumstancesOf(claim, attempt, isOwn, hasPassedSince(claim)));
  }

  function hasPassedSince({ lane, history, queuedAt }: Claim): boolean {
    return passedAt[lane.endpoint] > (history.triedAt || queuedAt);
  }

  function circumstancesOf(
    { event }: Claim,
    attempt: Attempt,
    isOwn: boolean,
    othersPassed: boolean,
  ): Circumstances {
    return { details: () => details(attempt, event), isOwn, othersPassed, now: clock.now(), random };
  }

  function findingOf(claim: Claim, outcome: Outcome, attempt: Attempt, othersPassed: boolean): Finding {
    switch (outcome.type) {
      case "delivered":
      case "rejected":
        // An attempt that failed before it was sent says nothing about the service.
        return { type: attempt.type === "answer" ? "pass" : "nothing" };
      case "throttled":
        if (isAskedAlone(claim, othersPassed)) return { type: "nothing" };
        return { type: "pause", forMs: outcome.retryAfterMs };
      case "unreachable":
        return { type: "unreachable" };
      case "unsent":
        return { type: "nothing" };
      default:
        return {
          type: "failure",
          visitor: visitorOf(claim.event),
          reason: pauseReasonOf(attempt),
          isAmbiguous: outcome.type === "ambiguous",
          isOfGateway: isOfGateway(attempt),
        };
    }
  }

  function settled(event: OutboxEvent, attempts: number, verdict: Verdict): void {
    if (verdict.type === "delivered") {
      journal.delivered(event, attempts + 1, event.kind === "click" ? undefined : verdict.leadId);
    } else if (verdict.type === "skipped") {
      journal.skipped(event.kind, verdict.reason, event);
    } else if (verdict.type === "retry" && verdict.history.attempts > attempts) {
      journal.retry(event, verdict.history.attempts, verdict.inMs, verdict.because ?? "");
    } else if (verdict.type === "dead") {
      const { type: _, ...death } = verdict;
      journal.dead(event, death);
    }
  }

  function details(attempt: Attempt, event?: OutboxEvent): Details {
    return detailsOf(attempt, event, { hide, now: clock.now() });
  }

  /** Looks again when the next lane opens with time. */
  function lookLater(): void {
    cancelLook();
    const now = clock.monotonic();
    const at = Math.min(health.opensAt(now), health.askAt);
    if (!stopped && Number.isFinite(at)) cancelLook = clock.after(Math.max(0, Math.ceil(at - now)), look);
  }

  function look(): void {
    if (health.askAt <= clock.monotonic()) void ask();
    // Another process may have found that the endpoint has recovered.
    if (health.isSwallowed) void circuits?.look().catch(() => {});
    onCapacity();
    lookLater();
  }

  /** Asks the status endpoint whether the service answers: that risks no event. */
  async function ask(): Promise<void> {
    health.ask();
    const attempt = await transport.send(calls.status(PROBE_SESSION), { bodyMs: BODY_MS });
    if (stopped) return;
    const outcome = outcomeOf(attempt, { maybeTaken: false, now: clock.now() });
    const restMs = outcome.type === "throttled" ? outcome.retryAfterMs : 0;
    health.asked(answerOf(attempt, outcome), clock.monotonic(), restMs);
    announcer.tell(() => details(attempt));
    onCapacity();
    lookLater();
  }

  return {
    destination,
    capacity() {
      const { limit, lanes } = stopped ? NONE : health.capacity(clock.monotonic());
      return { destination, limit, lanes };
    },
    deliver,
    settled,
    get inFlight() {
      return inFlight;
    },
    get endpoints() {
      return announcer.states();
    },
    stop() {
      stopped = true;
      cancelLook();
    },
  };
}

function answerOf(attempt: Attempt, { type }: Outcome): StatusAnswer {
  if (isOfGateway(attempt)) return "gateway";
  if (attempt.type === "answer") return attempt.status < 500 && type !== "throttled" ? "well" : "sick";
  return type === "unreachable" ? type : "silent";
}
