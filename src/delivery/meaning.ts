import { type EventKind, visitorOf } from "../conversion/events.js";
import type { AmbiguousPolicy } from "../conversion/kinds.js";
import type { Claim, History, Verdict } from "../outbox/claim.js";
import type { DeathReason } from "../outbox/dead-letters.js";
import type { Attempt } from "../service/attempt.js";
import type { Details } from "./details.js";
import type { Finding } from "./finding.js";
import { isOfGateway, type Outcome, pauseReasonOf } from "./outcome.js";
import { backoffMs } from "./when-again.js";

export interface EndedAttempt {
  readonly claim: Claim;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Whether the endpoint has taken other visitors' events since the last attempt at this one. */
  readonly othersPassed: boolean;
}

/** What a verdict depends on beside the attempt. */
export interface Context {
  readonly details: () => Details;
  /** Whether a failure may be the event's own fault, and not the service's. */
  readonly isOfEvent: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
}

interface Meaning {
  readonly finding: (ended: EndedAttempt) => Finding;
  readonly verdict: (ended: EndedAttempt, context: Context) => Verdict;
}

const pass = (): Finding => ({ type: "pass" });
const nothing = (): Finding => ({ type: "nothing" });
const unreachable = (): Finding => ({ type: "unreachable" });
const release = (): Verdict => ({ type: "release" });

/**
 * What each outcome means for the endpoint, and for the event. docs/delivery.md has the table for
 * readers, without what never left this process; a test compares the two.
 */
const MEANINGS: { readonly [Type in Outcome["type"]]: Meaning } = {
  delivered: { finding: pass, verdict: delivered },
  rejected: { finding: pass, verdict: dead("rejected") },
  refused: { finding: failure, verdict: afterRefusal },
  throttled: { finding: pause, verdict: afterPause },
  failed: { finding: failure, verdict: markedRetry },
  unreachable: { finding: unreachable, verdict: retry },
  ambiguous: { finding: failure, verdict: holdOrRetry },
  unsendable: { finding: nothing, verdict: dead("rejected") },
  unsent: { finding: nothing, verdict: release },
};

/** An event refused so often while others pass is at fault. Chosen: no key is revoked so often. */
const REFUSALS_OF_A_DEAD_LETTER = 5;
/** After so many failures of its own, an event has failed for about an hour. */
const FAILURES_OF_A_LONE_EVENT = 24;

/** What an attempt says of the endpoint. Pure. */
export function findingOf(ended: EndedAttempt): Finding {
  return MEANINGS[ended.outcome.type].finding(ended);
}

/** What becomes of an event after an attempt. Pure. */
export function verdictOn(ended: EndedAttempt, context: Context): Verdict {
  return MEANINGS[ended.outcome.type].verdict(ended, context);
}

/** The status endpoint did not say whether to send the event: it rests, whatever its age. */
export function postponed(ended: EndedAttempt, context: Context): Verdict {
  const { claim, outcome } = ended;
  if (outcome.type === "unsent" || outcome.type === "unsendable") return verdictOn(ended, context);
  const failures = claim.history.failures + Number(context.isOfEvent);
  const backoff = () => backoffMs(Math.max(1, failures), context.random());
  return retryIn(ended, context, outcome.type === "throttled" ? outcome.retryAfterMs : backoff(), {
    failures,
  });
}

/** The verdict on an event whose process was killed during an attempt. */
export function interruption({ history }: Claim): Verdict {
  return {
    type: "dead",
    reason: "unconfirmed",
    attempts: history.attempts + 1,
    code: "ERR_INTERRUPTED",
    message: "the process ended while an attempt was under way",
  };
}

/** Whether the service may have taken the event before this attempt. */
export function mayHaveBeenTaken({ history, interrupted }: Claim): boolean {
  return history.maybeTaken || interrupted;
}

function pause(ended: EndedAttempt): Finding {
  if (isAskedAlone(ended)) return nothing();
  return { type: "pause", forMs: pauseMs(ended) };
}

function failure({ claim, attempt, outcome }: EndedAttempt): Finding {
  return {
    type: "failure",
    visitor: visitorOf(claim.event),
    reason: pauseReasonOf(attempt),
    isAmbiguous: outcome.type === "ambiguous",
    isOfGateway: isOfGateway(attempt),
  };
}

function delivered({ outcome }: EndedAttempt): Verdict {
  return outcome.type === "delivered" ? outcome : { type: "delivered" };
}

function dead(reason: DeathReason): Meaning["verdict"] {
  return ({ claim }, { details }) => ({
    type: "dead",
    reason,
    attempts: claim.history.attempts + 1,
    ...details(),
  });
}

/** If the endpoint pauses, the event need not rest, and the attempt does not count. */
function afterPause(ended: EndedAttempt, context: Context): Verdict {
  if (isAskedAlone(ended)) return retryIn(ended, context, pauseMs(ended), { throttled: true });
  const { attempts } = ended.claim.history;
  return retryIn(ended, context, 0, { attempts, throttled: true });
}

function afterRefusal(ended: EndedAttempt, context: Context): Verdict {
  const refusals = ended.claim.history.refusals + Number(ended.othersPassed);
  if (refusals >= REFUSALS_OF_A_DEAD_LETTER) return dead("rejected")(ended, context);
  return retry(ended, context, { refusals });
}

function holdOrRetry(ended: EndedAttempt, context: Context): Verdict {
  const isHeld = context.ambiguous[ended.claim.event.kind] === "hold";
  return (isHeld ? dead("unconfirmed") : markedRetry)(ended, context);
}

/** The service may have taken the event. Then a later 409 proves that it has. */
function markedRetry(ended: EndedAttempt, context: Context): Verdict {
  return retry(ended, context, { maybeTaken: true });
}

function retry(ended: EndedAttempt, context: Context, changes: Partial<History> = {}): Verdict {
  const { history, queuedAt } = ended.claim;
  const { isOfEvent, now, random, maxAgeMs } = context;
  const failures = history.failures + Number(isOfEvent);
  // While the service takes no others either, age ends no event: it may be an outage.
  const isItsOwnFault = isOfEvent && (ended.othersPassed || failures >= FAILURES_OF_A_LONE_EVENT);
  if (now - queuedAt > maxAgeMs && isItsOwnFault) return dead("expired")(ended, context);
  return retryIn(ended, context, backoffMs(Math.max(1, failures), random()), { failures, ...changes });
}

function retryIn(
  { claim }: EndedAttempt,
  { details, now }: Context,
  inMs: number,
  changes: Partial<History>,
): Verdict {
  const { history } = claim;
  const next = {
    ...history,
    attempts: history.attempts + 1,
    maybeTaken: mayHaveBeenTaken(claim),
    triedAt: now,
  };
  return { type: "retry", inMs, history: { ...next, ...changes }, because: details().message };
}

function pauseMs({ outcome }: EndedAttempt): number {
  return outcome.type === "throttled" ? outcome.retryAfterMs : 0;
}

/** Whether it asks for a pause again because of this event, and took others since the first. */
function isAskedAlone({ claim, othersPassed }: EndedAttempt): boolean {
  return claim.history.throttled && othersPassed;
}
