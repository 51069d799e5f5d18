import { type EventKind, type OutboxEvent, visitorOf } from "../events.js";
import type { EndpointState, Journal } from "../journal.js";
import type { Claim, Deliver, History, Verdict } from "../outbox/outbox.js";
import { refusalOf } from "../service/answers.js";
import type { Attempt } from "../service/attempt.js";
import { type Calls, callFor } from "../service/calls.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import type { Clock } from "../shared/clock.js";
import { errorCodeOf } from "../shared/errors.js";
import { createAnnouncer } from "./announcer.js";
import { backoffMs } from "./backoff.js";
import { type Finding, Health } from "./health.js";
import { type Outcome, outcomeOf, pauseReasonOf } from "./outcome.js";

/** What to do with an event that the service may have taken: send it again, or hold it as a dead letter. */
export type AmbiguousPolicy = "retry" | "hold";

export interface DeliveryOptions {
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  readonly concurrency: number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  readonly journal: Journal;
  /** Takes out of the service's words what must not be shown. */
  readonly hide: (text: string) => string;
  /** There is capacity that there was not. */
  readonly onCapacity: () => void;
  readonly clock: Clock;
  readonly random?: () => number;
}

export interface Delivery extends Deliver {
  readonly inFlight: number;
  /** How each endpoint is, as of now. */
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** From here on nothing is begun, and what was not sent stays for the next process. */
  stop(): void;
}

const REFUSALS_OF_A_DEAD_LETTER = 5;
// By then an event has failed by itself for an hour, at the longest backoff.
const FAILURES_OF_A_LONE_EVENT = 24;

// Read-only, and about no visitor: the service only has to answer.
const PROBE_SESSION = "express-affiliate-probe";

/** Takes events to the service, one attempt at a time, as far as the health of its endpoints allows. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { transport, calls, concurrency, maxAgeMs, ambiguous, journal, hide, onCapacity, clock } = options;
  const { random = Math.random } = options;
  const health = new Health(concurrency, (endpoint) => ambiguous[kindOf(endpoint)] === "hold");
  const announcer = createAnnouncer(health, journal, clock);
  /** When each endpoint last took an event, in milliseconds since the epoch. */
  const passedAt = Object.fromEntries(ENDPOINTS.map((name) => [name, 0])) as Record<Endpoint, number>;
  let inFlight = 0;
  let stopped = false;
  let cancelLook = () => {};

  async function deliver(claim: Claim): Promise<Verdict> {
    const { event, interrupted, lane } = claim;
    if (interrupted && ambiguous[event.kind] === "hold") return interruption(claim);
    const ticket = stopped ? undefined : health.begin(lane, clock.monotonic());
    if (!ticket) return { type: "release" };
    inFlight++;
    const attempt = await transport.send(callFor(event, calls), { mayLeave: () => claim.isHeld?.() ?? true });
    inFlight--;

    const outcome = outcomeOf(attempt, { maybeTaken: mayBeTaken(claim), now: clock.now() });
    const othersPassed = passedAt[lane.endpoint] > (claim.history.triedAt || claim.queuedAt);
    const isAlone = outcome.type === "throttled" && claim.history.throttled && othersPassed;
    const finding = isAlone ? ({ type: "nothing" } as const) : findingOf(claim, outcome, attempt);
    const isOwn = health.end(ticket, finding, clock.monotonic());
    if (finding.type === "pass") passedAt[lane.endpoint] = clock.now();
    announcer.tell(() => detailsOf(attempt));
    if (outcome.type === "refused" && !othersPassed && !health.troubleOf(lane.endpoint)) {
      journal.refused(lane.endpoint, pauseReasonOf(attempt), detailsOf(attempt).message);
    }
    lookLater();
    return verdictOn(claim, outcome, attempt, { isOwn, isAlone, othersPassed });
  }

  function findingOf({ event }: Claim, outcome: Outcome, attempt: Attempt): Finding {
    switch (outcome.type) {
      case "delivered":
      case "rejected":
        // What was refused before it was sent says nothing of the service.
        return attempt.type === "answer" ? { type: "pass" } : { type: "nothing" };
      case "throttled":
        return { type: "pause", forMs: outcome.retryAfterMs };
      case "unreachable":
        return { type: "unreachable" };
      case "unsent":
        return { type: "nothing" };
      default:
        return {
          type: "failure",
          visitor: visitorOf(event),
          reason: pauseReasonOf(attempt),
          isAmbiguous: outcome.type === "ambiguous",
        };
    }
  }

  function verdictOn(
    claim: Claim,
    outcome: Outcome,
    attempt: Attempt,
    { isOwn, isAlone, othersPassed }: { isOwn: boolean; isAlone: boolean; othersPassed: boolean },
  ): Verdict {
    const { event, queuedAt } = claim;
    if (outcome.type === "delivered") return { type: "delivered" };
    if (outcome.type === "unsent") return { type: "release" };

    const before = claim.history;
    const attempts = before.attempts + 1;
    const dead = (reason: "rejected" | "unconfirmed" | "expired"): Verdict => ({
      type: "dead",
      reason,
      attempts,
      ...detailsOf(attempt),
    });
    const retry = (inMs: number, changes: Partial<History>): Verdict => {
      const maybeTaken = mayBeTaken(claim) || outcome.type === "ambiguous" || outcome.type === "failed";
      const history = { ...before, attempts, maybeTaken, triedAt: clock.now(), ...changes };
      return { type: "retry", inMs, history, because: detailsOf(attempt).message };
    };

    if (outcome.type === "rejected") return dead("rejected");
    if (outcome.type === "throttled") {
      // Where the endpoint pauses, the event need not, and nothing counts against it.
      const inMs = isAlone ? outcome.retryAfterMs : 0;
      const maybeTaken = mayBeTaken(claim);
      return retry(inMs, { attempts: before.attempts + Number(isAlone), maybeTaken, throttled: true });
    }
    if (outcome.type === "ambiguous" && ambiguous[event.kind] === "hold") return dead("unconfirmed");

    const failures = before.failures + Number(isOwn);
    const refusals = before.refusals + Number(outcome.type === "refused" && othersPassed);
    if (refusals >= REFUSALS_OF_A_DEAD_LETTER) return dead("rejected");
    // While the service takes nothing from others either, age is no reason to give an event up: it may be an outage.
    const isItsOwnFault = isOwn && (othersPassed || failures >= FAILURES_OF_A_LONE_EVENT);
    if (clock.now() - queuedAt > maxAgeMs && isItsOwnFault) return dead("expired");
    return retry(backoffMs(Math.max(1, failures), random()), { failures, refusals });
  }

  function settled(event: OutboxEvent, attempts: number, verdict: Verdict): void {
    if (verdict.type === "delivered") {
      journal.delivered(event, attempts + 1);
    } else if (verdict.type === "retry" && verdict.history.attempts > attempts) {
      journal.retry(event, verdict.history.attempts, verdict.inMs, verdict.because ?? "");
    } else if (verdict.type === "dead") {
      const { type: _, ...death } = verdict;
      journal.dead(event, death);
    }
  }

  function detailsOf(attempt: Attempt) {
    if (attempt.type === "answer") {
      const { status, error, message } = refusalOf(attempt, { now: clock.now(), hide });
      return { status, code: error, message };
    }
    const code = errorCodeOf(attempt.error);
    return { code, message: hide(attempt.error.message || code) };
  }

  /** Comes back when time alone changes what may be sent. */
  function lookLater(): void {
    cancelLook();
    const now = clock.monotonic();
    const at = Math.min(health.opensAt(now), health.askAt);
    if (!stopped && Number.isFinite(at)) cancelLook = clock.after(Math.max(0, Math.ceil(at - now)), look);
  }

  function look(): void {
    if (health.askAt <= clock.monotonic()) void ask();
    onCapacity();
    lookLater();
  }

  /** Asks the status endpoint whether the service is there: that costs no event. */
  async function ask(): Promise<void> {
    health.ask();
    const attempt = await transport.send(calls.status(PROBE_SESSION));
    if (stopped) return;
    const outcome = outcomeOf(attempt, { maybeTaken: false, now: clock.now() });
    const restMs = outcome.type === "throttled" ? outcome.retryAfterMs : 0;
    health.asked(answerOf(attempt, outcome), clock.monotonic(), restMs);
    announcer.tell(() => detailsOf(attempt));
    onCapacity();
    lookLater();
  }

  return {
    capacity: () => (stopped ? { limit: 0, lanes: [] } : health.capacity(clock.monotonic())),
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

/** Its process was killed in the middle of an attempt. */
function interruption({ history }: Claim): Verdict {
  return {
    type: "dead",
    reason: "unconfirmed",
    attempts: history.attempts + 1,
    code: "ERR_INTERRUPTED",
    message: "the process ended while an attempt was under way",
  };
}

function mayBeTaken({ history, interrupted }: Claim): boolean {
  return history.maybeTaken || interrupted;
}

function answerOf(attempt: Attempt, { type }: Outcome): "well" | "sick" | "silent" | "unreachable" {
  if (attempt.type === "answer") return attempt.status < 500 && type !== "throttled" ? "well" : "sick";
  return type === "unreachable" ? type : "silent";
}
