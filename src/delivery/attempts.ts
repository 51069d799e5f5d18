import type { EventKind, OutboxEvent } from "../conversion/events.js";
import type { AmbiguousPolicy } from "../conversion/kinds.js";
import type { Journal } from "../journal/journal.js";
import type { Claim, Verdict } from "../outbox/claim.js";
import { type Answer, type Attempt, unsendable } from "../service/attempt.js";
import { type Call, type Calls, callFor } from "../service/calls.js";
import { byEndpoint, type Endpoint } from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import type { Clock } from "../shared/clock.js";
import { errorCodeOf, errorFrom } from "../shared/errors.js";
import { harmless } from "../shared/harmless.js";
import { type Details, detailsOf } from "./details.js";
import type { Ticket } from "./endpoint-health.js";
import type { Health } from "./health.js";
import {
  type Context,
  type EndedAttempt,
  findingOf,
  mayHaveBeenTaken,
  postponed,
  verdictOn,
} from "./meaning.js";
import { outcomeOf, pauseReasonOf } from "./outcome.js";
import { Progress } from "./progress.js";
import { type ConfirmReferral, ReferralCheck } from "./referral.js";

/** An answer counts once its head is there: no slot waits longer for a message or a lead id. */
export const BODY_MS = 1_000;

const NO_JSON =
  "the service takes events, and answers with something that is no JSON: whether it says no there cannot be read";
const NO_STATUS =
  "the status endpoint answers with something that is no status: customers who are known by a login session alone " +
  'are not reported until it does; check `baseUrl`, or set `confirmReferral: "never"`';

/** The part of the journal that delivery calls. */
export type DeliveryJournal = Pick<
  Journal,
  | "attempt"
  | "delivered"
  | "skipped"
  | "retry"
  | "dead"
  | "paused"
  | "resumed"
  | "refused"
  | "unconfirmed"
  | "log"
  | "once"
>;

export interface AttemptOptions {
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  /** The `Idempotency-Key` of an event. */
  readonly keyOf: (event: OutboxEvent) => string;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  /** Default: `never`. */
  readonly confirmReferral?: ConfirmReferral;
  readonly journal: DeliveryJournal;
  /** Removes from the service's words what must not be shown. */
  readonly hide: (text: string) => string;
  readonly clock: Clock;
  readonly random?: () => number;
}

interface Parts extends AttemptOptions {
  readonly health: Health;
  /** Tells `health` what other processes show of an endpoint. Never rejects. */
  readonly look: (endpoint: Endpoint) => Promise<void>;
  /** Reports pauses that have begun or ended to the journal. Never throws. */
  readonly announce: (details: () => Details) => void;
  readonly hasStopped: () => boolean;
}

export function createAttempts(parts: Parts) {
  const { transport, calls, keyOf, maxAgeMs, ambiguous, journal, clock, random = Math.random } = parts;
  const { health, look, announce, hasStopped } = parts;
  const { confirmReferral: mode = "never" } = parts;
  const referral = new ReferralCheck({ transport, calls, mode, bodyMs: BODY_MS });
  /** When each endpoint last took an event, in milliseconds since the epoch. */
  const passedAt = byEndpoint(() => 0);
  const tellOnce = (line: string) => harmless(() => journal.once("warn", line, line));

  /** Whatever throws, the ticket is released, and what is known of the attempt decides. */
  async function attempt(claim: Claim): Promise<Verdict> {
    const progress = new Progress(health);
    try {
      const ticket = hasStopped() ? undefined : progress.begin(claim.lane, clock.monotonic());
      return ticket ? await makeAttempt(claim, ticket, progress) : { type: "release" };
    } catch (thrown) {
      const error = errorFrom(thrown);
      harmless(() => journal.log("error", `an attempt at an event failed: ${error.message}`));
      return verdictAfter(error, claim, progress);
    } finally {
      harmless(() => progress.release());
    }
  }

  async function makeAttempt(claim: Claim, ticket: Ticket, progress: Progress): Promise<Verdict> {
    const begins = () =>
      harmless(() => journal.attempt(claim.event, claim.history.attempts + 1, clock.now()));
    const isAsked = referral.isDue(claim.event);
    if (isAsked) begins();
    const verdict = isAsked && (await confirm(claim, progress));
    if (verdict) return verdict;
    // Last: an event that is skipped costs nothing.
    if (ticket.health.hasToLook(clock.monotonic())) await look(claim.lane.endpoint);
    if (hasStopped() || ticket.health.forbids(ticket, clock.monotonic())) return { type: "release" };
    if (!isAsked) begins();
    return send(claim, progress);
  }

  /** Asks whether the event may be sent. If not, resolves to its verdict. */
  async function confirm(claim: Claim, progress: Progress): Promise<Verdict | undefined> {
    const answer = await referral.ask(claim.event, clock);
    if (answer.type === "referred") return undefined;
    if (answer.type === "unanswered") {
      harmless(() => journal.unconfirmed(details(answer.attempt, claim.event).message));
      return undefined;
    }
    if (answer.type === "not-referred" || answer.type === "not-asked") {
      progress.release();
      if (answer.type === "not-referred") return { type: "skipped", reason: answer.type };
      const history = { ...claim.history, maybeTaken: mayHaveBeenTaken(claim), triedAt: clock.now() };
      return { type: "retry", inMs: answer.forMs, history };
    }
    const ended = endedWith(claim, answer.attempt, false);
    if (["delivered", "rejected", "refused"].includes(ended.outcome.type)) tellOnce(NO_STATUS);
    const type = ended.outcome.type === "unreachable" ? "unreachable" : "nothing";
    progress.end({ type }, clock.monotonic());
    announce(() => details(answer.attempt, claim.event));
    return postponed(ended, contextOf(ended, progress));
  }

  async function send(claim: Claim, progress: Progress): Promise<Verdict> {
    const { event, lane } = claim;
    function mayLeave(): boolean {
      progress.hasLeft = claim.isHeld?.() ?? true;
      return progress.hasLeft;
    }
    const answer = await sent(() => ({ ...callFor(event, calls), idempotencyKey: keyOf(event) }), mayLeave);
    progress.attempt = answer;
    const ended = endedWith(claim, answer, mayHaveBeenTaken(claim));
    const { outcome, othersPassed } = ended;
    progress.othersPassed = othersPassed;
    const finding = findingOf(ended);
    progress.end(finding, clock.monotonic());
    if (finding.type === "pass") passedAt[lane.endpoint] = clock.now();
    if (isTwoHundred(answer) && answer.isUnreadable) tellOnce(NO_JSON);
    announce(() => details(answer, event));
    if (outcome.type === "refused" && !othersPassed && !health.pauseOf(lane.endpoint)) {
      harmless(() => journal.refused(lane.endpoint, pauseReasonOf(answer), details(answer, event).message));
    }
    return verdictOn(ended, contextOf(ended, progress));
  }

  async function sent(make: () => Call, mayLeave: () => boolean): Promise<Attempt> {
    let call: Call;
    try {
      call = make();
    } catch (error) {
      return unsendable(errorFrom(error));
    }
    return transport.send(call, { mayLeave, bodyMs: BODY_MS });
  }

  /** If something threw: by the answer if there is one, otherwise by whether the request left. */
  function verdictAfter(
    error: Error,
    claim: Claim,
    { attempt, hasLeft, isOfEvent, othersPassed }: Progress,
  ): Verdict {
    const known: Attempt = attempt ?? { type: "no-answer", requestSent: hasLeft, error };
    const now = Date.now();
    const outcome = outcomeOf(known, { maybeTaken: mayHaveBeenTaken(claim), now });
    const plain = { code: errorCodeOf(error), message: "the attempt failed in this package" };
    return verdictOn(
      { claim, attempt: known, outcome, othersPassed },
      {
        ...{ maxAgeMs, ambiguous, isOfEvent, now, random: () => 0.5 },
        details: () => harmless(() => details(known, claim.event)) ?? plain,
      },
    );
  }

  function endedWith(claim: Claim, attempt: Attempt, maybeTaken: boolean): EndedAttempt {
    const { history, queuedAt } = claim;
    const { endpoint } = claim.lane;
    const now = clock.now();
    const outcome = outcomeOf(attempt, { maybeTaken, now });
    // The clock was set back: that time would be later than all attempts of an outage that follows.
    if (passedAt[endpoint] > now) passedAt[endpoint] = 0;
    return { claim, attempt, outcome, othersPassed: passedAt[endpoint] > (history.triedAt || queuedAt) };
  }

  function contextOf({ attempt, claim }: EndedAttempt, { isOfEvent }: Progress): Context {
    const now = clock.now();
    return { maxAgeMs, ambiguous, details: () => details(attempt, claim.event), isOfEvent, now, random };
  }

  function details(attempt: Attempt, event: OutboxEvent): Details {
    return detailsOf(attempt, event, { hide: parts.hide, now: clock.now() });
  }

  return attempt;
}

function isTwoHundred(attempt: Attempt): attempt is Answer {
  return attempt.type === "answer" && attempt.status < 300;
}
