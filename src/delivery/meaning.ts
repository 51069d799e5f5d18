import { type EventKind, namesOf } from "../conversion/events.js";
import type { AmbiguousPolicy } from "../conversion/kinds.js";
import type { DeathReason } from "../outbox/dead-letters.js";
import type { Claim, History, Verdict } from "../outbox/outbox.js";
import type { Attempt } from "../service/attempt.js";
import type { Details } from "./details.js";
import type { Finding } from "./endpoint-health.js";
import { isOfGateway, type Outcome, pauseReasonOf } from "./outcome.js";
import { backoffMs } from "./when-again.js";

/** An attempt that has ended, and what a verdict on its event depends on. */
export interface EndedAttempt {
  readonly claim: Claim;
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** Whether the endpoint has taken other visitors' events since the last attempt at this one. */
  readonly othersPassed: boolean;
  readonly details: () => Details;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
}

interface Meaning {
  readonly finding: Finding["type"];
  /** `isOfEvent`: whether a failure may be the event's own fault, and not the service's. */
  readonly verdict: (ended: EndedAttempt, isOfEvent: boolean) => Verdict;
}

/**
 * What each outcome means for the endpoint, and for the event. docs/delivery.md has the table for
 * readers, without what never left this process; a test compares the two.
 */
const MEANINGS: Readonly<Record<Outcome["type"], Meaning>> = {
  delivered: { finding: "pass", verdict: ({ outcome }) => outcome as Verdict },
  rejected: { finding: "pass", verdict: dead("rejected") },
  refused: { finding: "failure", verdict: afterRefusal },
  throttled: { finding: "pause", verdict: afterPause },
  failed: { finding: "failure", verdict: markedRetry },
  unreachable: { finding: "unreachable", verdict: retry },
  ambiguous: { finding: "failure", verdict: holdOrRetry },
  unsendable: { finding: "nothing", verdict: dead("rejected") },
  unsent: { finding: "nothing", verdict: () => ({ type: "release" }) },
};

/** An event refused so often while others pass is at fault. Chosen: no key is revoked so often. */
const REFUSALS_OF_A_DEAD_LETTER = 5;

/** What an attempt says of the endpoint. Pure. */
export function findingOf(ended: EndedAttempt): Finding {
  const { claim, attempt, outcome } = ended;
  return {
    type: isAskedAlone(ended) ? "nothing" : MEANINGS[outcome.type].finding,
    names: namesOf(claim.event),
    reason: pauseReasonOf(attempt),
    isAmbiguous: outcome.type === "ambiguous",
    isOfGateway: isOfGateway(attempt),
    forMs: pauseMs(ended),
  };
}

/** What becomes of an event after an attempt. Pure. */
export function verdictOn(ended: EndedAttempt, isOfEvent: boolean): Verdict {
  return MEANINGS[ended.outcome.type].verdict(ended, isOfEvent);
}

/** The status endpoint did not say whether to send the event: it rests, whatever its age. */
export function postponed(ended: EndedAttempt, isOfEvent: boolean): Verdict {
  const { claim, outcome, random } = ended;
  if (outcome.type === "unsent" || outcome.type === "unsendable") return verdictOn(ended, isOfEvent);
  const failures = claim.history.failures + Number(isOfEvent);
  return retryIn(ended, pauseMs(ended) || backoffMs(Math.max(1, failures), random()), { failures });
}

/** The verdict on an event whose process was killed during an attempt. */
export function interruption(claim: Claim): Verdict {
  return {
    type: "dead",
    reason: "unconfirmed",
    attempts: attemptsAt(claim),
    code: "ERR_INTERRUPTED",
    message: "the process ended while an attempt was under way",
  };
}

/** How many there are with this one. */
const attemptsAt = ({ history }: Claim): number => history.attempts + 1;

/** Whether the service may have taken the event before this attempt. */
export function mayHaveBeenTaken({ history, interrupted }: Claim): boolean {
  return history.maybeTaken || interrupted;
}

function dead(reason: DeathReason): (ended: EndedAttempt) => Verdict {
  return ({ claim, details }) => ({ type: "dead", reason, attempts: attemptsAt(claim), ...details() });
}

/** If the endpoint pauses, the event need not rest, and the attempt does not count. */
function afterPause(ended: EndedAttempt): Verdict {
  if (isAskedAlone(ended)) return retryIn(ended, pauseMs(ended), { throttled: true });
  const { attempts } = ended.claim.history;
  return retryIn(ended, 0, { attempts, throttled: true });
}

function afterRefusal(ended: EndedAttempt, isOfEvent: boolean): Verdict {
  const refusals = ended.claim.history.refusals + Number(ended.othersPassed);
  if (refusals >= REFUSALS_OF_A_DEAD_LETTER) return dead("rejected")(ended);
  return retry(ended, isOfEvent, { refusals });
}

function holdOrRetry(ended: EndedAttempt, isOfEvent: boolean): Verdict {
  const isHeld = ended.ambiguous[ended.claim.event.kind] === "hold";
  return isHeld ? dead("unconfirmed")(ended) : markedRetry(ended, isOfEvent);
}

/** The service may have taken the event. Then a later 409 proves that it has. */
function markedRetry(ended: EndedAttempt, isOfEvent: boolean): Verdict {
  return retry(ended, isOfEvent, { maybeTaken: true });
}

function retry(ended: EndedAttempt, isOfEvent: boolean, changes: Partial<History> = {}): Verdict {
  const { claim, othersPassed, now, random, maxAgeMs } = ended;
  const failures = claim.history.failures + Number(isOfEvent);
  // While the service takes no others either, age ends no event: it may be an outage.
  if (now - claim.queuedAt > maxAgeMs && isOfEvent && othersPassed) return dead("expired")(ended);
  return retryIn(ended, backoffMs(Math.max(1, failures), random()), { failures, ...changes });
}

function retryIn({ claim, details, now }: EndedAttempt, inMs: number, changes: Partial<History>): Verdict {
  const [attempts, maybeTaken] = [attemptsAt(claim), mayHaveBeenTaken(claim)];
  const next = { ...claim.history, attempts, maybeTaken, triedAt: now };
  return { type: "retry", inMs, history: { ...next, ...changes }, because: details().message };
}

function pauseMs({ outcome }: EndedAttempt): number {
  return outcome.type === "throttled" ? outcome.retryAfterMs : 0;
}

/** Whether it asks for a pause again because of this event, and took others since the first. */
function isAskedAlone({ claim, outcome, othersPassed }: EndedAttempt): boolean {
  return outcome.type === "throttled" && claim.history.throttled && othersPassed;
}
