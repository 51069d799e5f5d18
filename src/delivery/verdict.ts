import type { EventKind } from "../events.js";
import type { DeathReason } from "../outbox/dead-letters.js";
import type { Claim, History, Verdict } from "../outbox/outbox.js";
import type { AmbiguousPolicy } from "../outbox/remote.js";
import { backoffMs } from "./backoff.js";
import type { Details } from "./details.js";
import type { Outcome } from "./outcome.js";

/** What a verdict depends on beside the outcome. */
export interface Circumstances {
  readonly details: () => Details;
  /** Whether a failure may be the event's own fault, and not the service's. */
  readonly isOwn: boolean;
  /** Whether the endpoint has taken other visitors' events since the last attempt at this one. */
  readonly othersPassed: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
}

export interface VerdictOptions {
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
}

const REFUSALS_OF_A_DEAD_LETTER = 5;
// After so many failures of its own, an event has failed for over an hour.
const FAILURES_OF_A_LONE_EVENT = 24;

/** Decides on an event after an attempt. Pure. */
export function verdictOn(
  claim: Claim,
  outcome: Outcome,
  { details, isOwn, othersPassed, now, random }: Circumstances,
  { maxAgeMs, ambiguous }: VerdictOptions,
): Verdict {
  const { event, history, queuedAt } = claim;
  const attempts = history.attempts + 1;
  const dead = (reason: DeathReason): Verdict => ({ type: "dead", reason, attempts, ...details() });
  const retry = (inMs: number, changes: Partial<History>): Verdict => ({
    type: "retry",
    inMs,
    history: { ...history, attempts, maybeTaken: mayBeTaken(claim), triedAt: now, ...changes },
    because: details().message,
  });

  switch (outcome.type) {
    case "delivered":
      return outcome;
    case "unsent":
      return { type: "release" };
    case "rejected":
      return dead("rejected");
    case "throttled":
      // If the endpoint pauses, the event need not rest, and the attempt does not count.
      return isAskedAlone(claim, othersPassed)
        ? retry(outcome.retryAfterMs, { throttled: true })
        : retry(0, { attempts: history.attempts, throttled: true });
  }
  if (outcome.type === "ambiguous" && ambiguous[event.kind] === "hold") return dead("unconfirmed");

  const failures = history.failures + Number(isOwn);
  const refusals = history.refusals + Number(outcome.type === "refused" && othersPassed);
  if (refusals >= REFUSALS_OF_A_DEAD_LETTER) return dead("rejected");
  // While the service takes no other events either, age is no reason to give this one up: it may be an outage.
  const isItsOwnFault = isOwn && (othersPassed || failures >= FAILURES_OF_A_LONE_EVENT);
  if (now - queuedAt > maxAgeMs && isItsOwnFault) return dead("expired");
  const maybeTaken = mayBeTaken(claim) || outcome.type === "ambiguous" || outcome.type === "failed";
  return retry(backoffMs(Math.max(1, failures), random()), { failures, refusals, maybeTaken });
}

/** The event was not sent, because the status endpoint did not say whether to: it rests, whatever its age. */
export function postponed(
  claim: Claim,
  outcome: Outcome,
  { details, isOwn, now, random }: Circumstances,
): Verdict {
  if (outcome.type === "unsent") return { type: "release" };
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

/** Whether the service asks for a pause a second time because of this event, and has taken others since the first. */
export function isAskedAlone({ history }: Claim, othersPassed: boolean): boolean {
  return history.throttled && othersPassed;
}
