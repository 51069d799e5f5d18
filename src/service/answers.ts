import * as z from "zod/mini";
import type { Answer } from "./attempt.js";
import { fieldOf, textOf } from "./body.js";

// An id is an integer in one answer and a string in another (§2.2): both are accepted.
type ServiceId = number | string;
const serviceId = z.union([z.number(), z.string()]);

// A field that is null, or not of the specified type, counts as left out.
const text = z.catch(z.optional(z.string()), undefined);
const id = z.catch(z.optional(serviceId), undefined);
const number = z.catch(z.optional(z.number()), undefined);

/** The answer to a click (§4.1). Fields left out or mistyped are `undefined`. @inline */
export interface ClickAnswer {
  /** The service's own number for the click. */
  readonly clickId?: ServiceId | undefined;
  /** The session id of the request. */
  readonly sessionId?: string | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/**
 * What the answers to registrations and payments have in common. The answer to a registration by
 * session id (§4.3) is not specified, and read as this. @inline
 */
export interface LeadAnswer {
  /** The service's own number for the registration or payment. */
  readonly leadId?: ServiceId | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/** The answer to a registration by click id (§4.2). @inline */
export interface RegistrationAnswer extends LeadAnswer {
  /** The click id of the request. */
  readonly clickId?: ServiceId | undefined;
}

/** The answer to a payment (§4.4). @inline */
export interface PaymentAnswer extends LeadAnswer {
  /** The amount as the service has taken it, in major units. */
  readonly leadValue?: number | undefined;
  /** `TRACKING_API` for payments that are reported this way. */
  readonly conversionSource?: string | undefined;
}

/** The answer to a status request (§4.5). Fields left out or sent as null are `undefined`. */
export interface TrackingStatus {
  /** The session id that was asked about. */
  readonly sessionId?: string | undefined;
  /** Whether the service links the session to a click. */
  readonly hasAffiliate: boolean;
  /** The reference code of the affiliate who is credited. */
  readonly affiliateReference?: string | undefined;
  /** The service's own number for the click. */
  readonly clickId?: ServiceId | undefined;
  /** When the click happened: ISO 8601 in UTC. */
  readonly clickedAt?: string | undefined;
}

/** What is read of an answer, by the client's methods. */
export const ANSWERS = {
  click: z.object({ clickId: id, sessionId: text, message: text }),
  registration: z.object({ leadId: id, clickId: id, message: text }),
  registrationLead: z.object({ leadId: id, message: text }),
  paymentLead: z.object({ leadId: id, leadValue: number, conversionSource: text, message: text }),
  status: z.object({
    sessionId: text,
    hasAffiliate: z.boolean(),
    affiliateReference: text,
    clickId: id,
    clickedAt: text,
  }),
};

// `false` as a boolean, a number or a text.
const SPELLINGS_OF_FALSE = new Set(["false", "0", "no"]);

/** Any 2xx, unless its body says `success: false`, or has an `error` (§7) and no `success`. */
export function isYes({ status, body }: Answer): boolean {
  if (status < 200 || status >= 300) return false;
  const success = fieldOf(body, "success") ?? undefined;
  if (success === undefined) return textOf(body, "error") === undefined;
  return typeof success === "object" || !SPELLINGS_OF_FALSE.has(String(success).trim().toLowerCase());
}

/** A refusal's status, and its error body (§7) if readable. `hide` removes secrets from texts. */
export function refusalOf(answer: Answer, { now, hide }: { now: number; hide: (text: string) => string }) {
  const { status, body } = answer;
  const clip = (text: string) => hide(text).slice(0, 500);
  return {
    status,
    error: clip(textOf(body, "error") ?? String(status)),
    message: clip(textOf(body, "message") ?? `the service answered ${status}`),
    retryAfterMs: retryAfterMs(answer, now),
  };
}

/**
 * The service's number for a registration or payment (§2.3): a positive integer, or its digits.
 * `undefined` if the answer has none, or one that a JavaScript number does not hold exactly.
 */
export function leadIdOf(body: unknown): number | undefined {
  const { leadId } = Object(body) as { leadId?: unknown };
  const number = typeof leadId === "string" && /^[0-9]{1,16}$/.test(leadId) ? Number(leadId) : leadId;
  return Number.isSafeInteger(number) && (number as number) > 0 ? (number as number) : undefined;
}

/** How long Retry-After (RFC 9110, 10.2.3) asks to wait. `undefined` if it cannot be read. */
export function retryAfterMs(
  { retryAfter, date: sentAt = "" }: Pick<Answer, "retryAfter" | "date">,
  now: number,
): number | undefined {
  const text = retryAfter?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse alone takes nearly anything, such as "-5". An HTTP date begins with the day's name,
  // and is in GMT even in its one form that does not say so.
  const isDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text);
  const date = isDate ? Date.parse(text.endsWith("GMT") ? text : `${text} GMT`) : Number.NaN;
  // By the service's clock if it sends `Date`: this machine's may be wrong.
  return Number.isNaN(date) ? undefined : Math.max(0, date - (Date.parse(sentAt) || now));
}
