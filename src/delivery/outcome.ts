import { isYes, leadIdOf, retryAfterMs } from "../service/answers.js";
import { type Attempt, HeldBack, isUnsendable, PageInstead } from "../service/attempt.js";
import { askedPauseMs } from "./when-again.js";

/**
 * What the answer to one attempt means. A pure function of what undici and the service said:
 *
 * - `delivered`: the service has it.
 * - `rejected`: the service will never take it.
 * - `refused`: the service takes nothing from this caller at this address, or not this event; other
 *   attempts show which.
 * - `throttled`: the service asks for a pause of so many milliseconds.
 * - `failed`: the service says that it did not take it; worth another attempt.
 * - `ambiguous`: the service may have it.
 * - `unreachable`: there was no connection.
 * - `unsendable`: the request cannot be made, now or later.
 * - `unsent`: this process did not send it, for a reason of its own.
 */
export type Outcome =
  | { readonly type: "throttled"; readonly retryAfterMs: number }
  | { readonly type: "delivered"; readonly leadId?: number }
  | {
      readonly type:
        | "rejected"
        | "refused"
        | "failed"
        | "ambiguous"
        | "unreachable"
        | "unsendable"
        | "unsent";
    };

/** An answer counts once its head is there: no slot waits longer for a message or a lead id. */
export const BODY_MS = 1_000;

const UNAUTHORIZED = new Set([401, 403, 407]);
const REFUSED = new Set([...UNAUTHORIZED, 404, 405, 410, 501]);
// The service or its proxy says that it was not taken (521, 523, 525, 526, 530: Cloudflare's).
const NOT_TAKEN = new Set([408, 425, 429, 500, 503, 521, 523, 525, 526, 530]);
// A gateway got no answer from the service, which may have read it (520, 522, 524: Cloudflare's).
const NO_ANSWER_BEHIND = new Set([502, 504, 520, 522, 524]);

/**
 * @param maybeTaken whether an earlier attempt may have been taken: then a 409 proves that it was.
 * @param now milliseconds since the epoch, for a Retry-After that names a date.
 */
export function outcomeOf(
  attempt: Attempt,
  { maybeTaken, now }: { maybeTaken: boolean; now: number },
): Outcome {
  if (attempt.type === "no-answer") {
    if (attempt.requestSent) return { type: "ambiguous" };
    // Not by undici's code for an abort, which is also its code for a proxy that refuses.
    if (attempt.error instanceof HeldBack) return { type: "unsent" };
    return { type: isUnsendable(attempt) ? "unsendable" : "unreachable" };
  }

  const { status } = attempt;
  if (status < 300) return isYes(attempt) ? deliveredWith(attempt.body) : { type: "rejected" };
  if (status < 400 || REFUSED.has(status)) return { type: "refused" };
  if (status === 409 && maybeTaken) return deliveredWith(attempt.body);

  const pause = status === 429 || status === 503 ? retryAfterMs(attempt, now) : undefined;
  if (pause !== undefined) return { type: "throttled", retryAfterMs: askedPauseMs(pause) };
  if (NOT_TAKEN.has(status)) return { type: "failed" };
  // `NO_ANSWER_BEHIND`, and every 5xx that does not say whether the request was taken.
  return { type: status < 500 ? "rejected" : "ambiguous" };
}

function deliveredWith(body: unknown): Outcome {
  const leadId = leadIdOf(body);
  return { type: "delivered", ...(leadId !== undefined && { leadId }) };
}

/** Whether something in between answered, and not the service behind it. */
export function isOfGateway(attempt: Attempt): boolean {
  if (attempt.type === "no-answer") return attempt.error instanceof PageInstead;
  return NO_ANSWER_BEHIND.has(attempt.status);
}

/** The reason for a pause of an endpoint whose attempts end like this one. */
export function pauseReasonOf(attempt: Attempt): "failing" | "silent" | "unauthorized" | "misconfigured" {
  if (attempt.type === "no-answer") return isOfGateway(attempt) ? "misconfigured" : "silent";
  const { status } = attempt;
  if (UNAUTHORIZED.has(status)) return "unauthorized";
  return status < 400 || REFUSED.has(status) ? "misconfigured" : "failing";
}
