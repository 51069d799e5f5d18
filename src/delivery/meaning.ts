import { type EventKind, visitorOf } from "../events.js";
import type { DeathReason } from "../outbox/dead-letters.js";
import type { Claim, History, Verdict } from "../outbox/outbox.js";
import type { AmbiguousPolicy } from "../outbox/remote.js";
import type { Attempt } from "../service/attempt.js";
import type { Details } from "./details.js";
import type { Finding } from "./finding.js";
import { isOfGateway, type Outcome, pauseReasonOf } from "./outcome.js";
import { backoffMs } from "./when-again.js";

/** An attempt that has ended. */
export interface Ended {
  readonly claim: Claim;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Whether the endpoint has taken other visitors' events since the last attempt at this one. */
  readonly othersPassed: boolean;
}

/** What a verdict depends on beside the attempt. */
export interface Circumstances {
  readonly details: () => Details;
  /** Whether a failure may be the event's own fault, and not the service's. */
  readonly isOwn: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
}

interface Meaning {
  /** What the attempt says of the endpoint. */
  readonly finding: (ended: Ended) => Finding;
  /** What becomes of the event. */
  readonly verdict: (ended: Ended, circumstances: Circumstances) => Verdict;
}

/**
 * What each outcome means for the endpoint, and for the event. docs/delivery.md has the same table for readers; a test compares
 * the two.
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

/** An event that was refused so often while others passed is at fault itself. Chosen: a key is seldom revoked five times. */
const REFUSALS_OF_A_DEAD_LETTER = 5;
/** After so many failures of its own, an event has failed for over an hour. */
const FAILURES_OF_A_LONE_EVENT = 24;

/** What an attempt says of the endpoint. Pure. */
export function findingOf(ended: Ended): Finding {
  return MEANINGS[ended.outcome.type].finding(ended);
}

/** What becomes of an event after an attempt. Pure. */
export function verdictOn(ended: Ended, circumstances: Circumstances): Verdict {
  return MEANINGS[ended.outcome.type].verdict(ended, circumstances);
}

/** The event was not sent, because the status endpoint did not say whether to: it rests, whatever its age. */
export function postponed(ended: Ended, circumstances: Circumstances): Verdict {
  const { claim, outcome } = ended;
  const { details, isOwn, now, random } = circumstances;
  if (outcome.type === "unsent" || outcome.type === "unsendable") return verdictOn(ended, circumstances);
  const { history } = claim;
  const failures = history.failures + Number(isOwn);
  return {
    type: "retry",
    inMs: outcome.type === "throttled" ? outcome.retryAfterMs : backoffMs(Math.max(1, failures), random()),
    history: { ...history, attempts: history.attempts + 1, failures, triedAt: now },
    because: details().message,
  };
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
export function mayBeTaken({ history, interrupted }: Claim): boolean {
  return history.maybeTaken || interrupted;
}

function pass(): Finding {
  return { type: "pass" };
}

function nothing(): Finding {
  return { type: "nothing" };
}

function unreachable(): Finding {
  return { type: "unreachable" };
}

function pause(ended: Ended): Finding {
  if (isAskedAlone(ended)) return nothing();
  return { type: "pause", forMs: pauseMs(ended) };
}

function failure({ claim, attempt, outcome }: Ended): Finding {
  return {
    type: "failure",
    visitor: visitorOf(claim.event),
    reason: pauseReasonOf(attempt),
    isAmbiguous: outcome.type === "ambiguous",
    isOfGateway: isOfGateway(attempt),
  };
}

function delivered({ outcome }: Ended): Verdict {
  return outcome.type === "delivered" ? outcome : { type: "delivered" };
}

function release(): Verdict {
  return { type: "release" };
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
function afterPause(ended: Ended, circumstances: Circumstances): Verdict {
  if (isAskedAlone(ended)) return again(ended, circumstances, pauseMs(ended), { throttled: true });
  const { attempts } = ended.claim.history;
  return again(ended, circumstances, 0, { attempts, throttled: true });
}

function afterRefusal(ended: Ended, circumstances: Circumstances): Verdict {
  const refusals = ended.claim.history.refusals + Number(ended.othersPassed);
  if (refusals >= REFUSALS_OF_A_DEAD_LETTER) return dead("rejected")(ended, circumstances);
  return retry(ended, circumstances, { refusals });
}

function holdOrRetry(ended: Ended, circumstances: Circumstances): Verdict {
  const isHeld = circumstances.ambiguous[ended.claim.event.kind] === "hold";
  return (isHeld ? dead("unconfirmed") : markedRetry)(ended, circumstances);
}

/** The service may have taken the event: then a later 409 is the proof that it has. */
function markedRetry(ended: Ended, circumstances: Circumstances): Verdict {
  return retry(ended, circumstances, { maybeTaken: true });
}

function retry(ended: Ended, circumstances: Circumstances, changes: Partial<History> = {}): Verdict {
  const { history, queuedAt } = ended.claim;
  const { isOwn, now, random, maxAgeMs } = circumstances;
  const failures = history.failures + Number(isOwn);
  // While the service takes no other events either, age is no reason to give this one up: it may be an outage.
  const isItsOwnFault = isOwn && (ended.othersPassed || failures >= FAILURES_OF_A_LONE_EVENT);
  if (now - queuedAt > maxAgeMs && isItsOwnFault) return dead("expired")(ended, circumstances);
  return again(ended, circumstances, backoffMs(Math.max(1, failures), random()), { failures, ...changes });
}

function again(
  { claim }: Ended,
  { details, now }: Circumstances,
  inMs: number,
  changes: Partial<History>,
): Verdict {
  const { history } = claim;
  const next = { ...history, attempts: history.attempts + 1, maybeTaken: mayBeTaken(claim), triedAt: now };
  return { type: "retry", inMs, history: { ...next, ...changes }, because: details().message };
}

function pauseMs({ outcome }: Ended): number {
  return outcome.type === "throttled" ? outcome.retryAfterMs : 0;
}

/** Whether the service asks for a pause a second time because of this event, and has taken others since the first. */
function isAskedAlone({ claim, othersPassed }: Ended): boolean {
  return claim.history.throttled && othersPassed;
}
