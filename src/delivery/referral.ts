import type { OutboxEvent } from "../conversion/events.js";
import { rowOf } from "../conversion/kinds.js";
import { isByLoginSession } from "../conversion/visitor-ids.js";
import type { Answer, Attempt } from "../service/attempt.js";
import { errorStatusOf, textOf } from "../service/body.js";
import type { Calls } from "../service/calls.js";
import type { Transport } from "../service/transport.js";
import type { Clock } from "../shared/clock.js";
import { BODY_MS, type Outcome, outcomeOf, pauseReasonOf } from "./outcome.js";
import { probeMs, REFERRAL_WAIT_MS } from "./when-again.js";

/** What the status endpoint says of an event's visitor. */
type Referral =
  | { readonly type: "referred" }
  | { readonly type: "not-referred" }
  /** It does not answer this question, or not to this caller. */
  | { readonly type: "unanswered"; readonly attempt: Attempt }
  /** It may answer later. */
  | { readonly type: "later"; readonly attempt: Attempt }
  /** It did not answer a moment ago, and is not asked for so many milliseconds. */
  | { readonly type: "not-asked"; readonly forMs: number };

/** Before which events the status endpoint is asked for a referral. */
export type ConfirmReferral = "login-session" | "always" | "never";

/**
 * Asks the status endpoint (§4.5), by the session id alone, whether an affiliate referred the
 * visitor of an event: if none did, the customer's address is not sent.
 */
export function createReferralCheck(parts: {
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  readonly mode: ConfirmReferral;
  readonly clock: Pick<Clock, "now" | "monotonic">;
}) {
  const { transport, calls, mode, clock } = parts;
  /** Since when it has not answered, by the monotonic clock. */
  let failingSince: number | undefined;
  /** Until when it is not asked. Answers to questions that were under way do not end that. */
  let restsUntil = Number.NEGATIVE_INFINITY;

  return {
    isDue({ kind, data }: OutboxEvent): boolean {
      // A click comes before any referral.
      if (rowOf(kind).needsVisitorId === "never" || data.sessionId === undefined) return false;
      // Every customer has a login session. A click id comes with an affiliate's link.
      return mode === "always" || (mode === "login-session" && isByLoginSession(data));
    },

    async ask({ data }: OutboxEvent): Promise<Referral> {
      const call = calls.status(data.sessionId as string);
      const began = clock.monotonic();
      if (began < restsUntil) return { type: "not-asked", forMs: restsUntil - began };
      // While the endpoint fails, one question at a time probes whether it answers again.
      const probeEndsBy = began + REFERRAL_WAIT_MS;
      if (failingSince !== undefined) restsUntil = probeEndsBy;
      const attempt = await transport.send(call, { bodyMs: BODY_MS });
      if (restsUntil === probeEndsBy) restsUntil = began;
      const outcome = outcomeOf(attempt, { maybeTaken: false, now: clock.now() });
      if (!isAnswered(attempt, outcome)) {
        const now = clock.monotonic();
        failingSince ??= began;
        const askedMs = outcome.type === "throttled" ? outcome.retryAfterMs : 0;
        restsUntil = Math.max(restsUntil, now + Math.max(askedMs, probeMs(now - failingSince)));
        return { type: "later", attempt };
      }
      failingSince = undefined;
      const { status, body } = attempt;
      if (status === 404) return { type: "not-referred" };
      if (status >= 300) return { type: "unanswered", attempt };
      return { type: hasAffiliate(body) ? "referred" : "not-referred" };
    },
  };
}

/**
 * Whether the service has decided on the question, or refuses it. A 2xx without a readable status
 * decides nothing, nor do a redirect, and a 404 without the JSON of an error (§7): a gateway or a
 * web framework says that of a service that is being deployed, or of a wrong address.
 */
function isAnswered(attempt: Attempt, { type }: Outcome): attempt is Answer {
  if (attempt.type !== "answer") return false;
  const { status, body } = attempt;
  if (status < 300) return hasAffiliate(body) !== undefined;
  // For an unknown address, Rails and Spring Boot send all fields but the message.
  if (status === 404) return errorStatusOf(body) === 404 && textOf(body, "message") !== undefined;
  return type === "rejected" || pauseReasonOf(attempt) === "unauthorized";
}

function hasAffiliate(body: unknown): boolean | undefined {
  const { hasAffiliate: said } = Object(body) as { hasAffiliate?: unknown };
  return typeof said === "boolean" ? said : undefined;
}
