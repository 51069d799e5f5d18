import { isYes } from "../client.js";
import { errorCodeOf } from "../errors.js";
import { retryAfterMs } from "../retry-after.js";
import type { Attempt } from "../transport.js";

/**
 * What one attempt came to. A pure function of what undici and the service said:
 *
 * - `delivered`: the service has it.
 * - `rejected`: the service will never take it.
 * - `unauthorized`, `misconfigured`: it is not about this event; nothing will get through until somebody acts.
 * - `throttled`: not now.
 * - `failed`: the service does not have it; worth another attempt.
 * - `ambiguous`: the service may have it.
 */
export type Outcome =
  | { readonly is: "delivered" | "rejected" | "unauthorized" | "misconfigured" | "failed" | "ambiguous" }
  | { readonly is: "throttled"; readonly retryAfterMs?: number };

const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60 * 60 * 1_000;

const UNAUTHORIZED = new Set([401, 403, 407]);
const MISCONFIGURED = new Set([404, 405, 410, 501]);
// The service, or the proxy before it (521, 523, 525, 526, 530 are Cloudflare's), says that it did not take the request.
const NOT_TAKEN = new Set([408, 425, 500, 502, 503, 521, 523, 525, 526, 530]);

// OpenSSL's verdicts on a certificate, as Node passes them on: trying again helps nobody, telling somebody does.
const CERTIFICATE_ERRORS =
  /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|HOSTNAME_MISMATCH$)/;

// What undici refuses to send at all: the same request would be refused again.
const UNSENDABLE = new Set([
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH",
]);

/**
 * @param attempt what came back.
 * @param maybeTaken whether an earlier attempt at the same event was ambiguous: then a 409 is the proof that it was taken.
 * @param now milliseconds since the epoch, for a Retry-After that names a date.
 */
export function outcomeOf(
  attempt: Attempt,
  { maybeTaken, now }: { maybeTaken: boolean; now: number },
): Outcome {
  if (!attempt.answered) {
    if (attempt.requestSent) return { is: "ambiguous" };
    const code = errorCodeOf(attempt.error);
    if (CERTIFICATE_ERRORS.test(code)) return { is: "misconfigured" };
    return { is: UNSENDABLE.has(code) ? "rejected" : "failed" };
  }

  const { status, retryAfter } = attempt;
  if (status < 300) return { is: isYes(attempt) ? "delivered" : "rejected" };
  if (status < 400 || MISCONFIGURED.has(status)) return { is: "misconfigured" };
  if (UNAUTHORIZED.has(status)) return { is: "unauthorized" };
  if (status === 409 && maybeTaken) return { is: "delivered" };

  const pause = retryAfterMs(retryAfter, now);
  if (status === 429 || (status === 503 && pause !== undefined)) {
    if (pause === undefined) return { is: "throttled" };
    return { is: "throttled", retryAfterMs: Math.min(Math.max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS) };
  }
  if (NOT_TAKEN.has(status)) return { is: "failed" };
  // 504, 520, 522, 524, and every 5xx that says nothing of the request's fate.
  return { is: status < 500 ? "rejected" : "ambiguous" };
}
