import { z } from "zod";
import type { Answer } from "./attempt.js";
import { retryAfterMs } from "./retry-after.js";

// An id is an integer in one answer and a string in another (section 2.2), so either is taken where one is due.
type ServiceId = number | string;
const serviceId = z.union([z.number(), z.string()]);

// The service's answers are read leniently: what is null, or not of the specified type, counts as left out.
const text = z.string().optional().catch(undefined);
const id = serviceId.optional().catch(undefined);
const number = z.number().optional().catch(undefined);

/** Answer to §4.1. */
export interface ClickAnswer {
  /** The service's own number for the click. */
  readonly clickId?: ServiceId | undefined;
  readonly sessionId?: string | undefined;
  readonly message?: string | undefined;
}

/** Answer to §4.2. */
export interface RegistrationAnswer {
  readonly leadId?: ServiceId | undefined;
  readonly clickId?: ServiceId | undefined;
  readonly message?: string | undefined;
}

/** Answer to §4.3, which the specification does not show; what the other leads have is read where it is there. */
export interface RegistrationLeadAnswer {
  readonly leadId?: ServiceId | undefined;
  readonly message?: string | undefined;
}

/** Answer to §4.4. */
export interface PaymentAnswer {
  readonly leadId?: ServiceId | undefined;
  readonly leadValue?: number | undefined;
  readonly conversionSource?: string | undefined;
  readonly message?: string | undefined;
}

/** Answer to §4.5. Without an affiliate the other fields are left out, whether the service left them out or sent null. */
export interface TrackingStatus {
  readonly sessionId?: string | undefined;
  readonly hasAffiliate: boolean;
  readonly affiliateReference?: string | undefined;
  readonly clickId?: ServiceId | undefined;
  /** ISO 8601 in UTC. */
  readonly clickedAt?: string | undefined;
}

// Their types stand above, not inferred: what is published must not make a host's compiler read zod.
export const clickAnswer: z.ZodType<ClickAnswer> = z.object({ clickId: id, sessionId: text, message: text });
export const registrationAnswer: z.ZodType<RegistrationAnswer> = z.object({
  leadId: id,
  clickId: id,
  message: text,
});
export const leadAnswer: z.ZodType<RegistrationLeadAnswer> = z.object({ leadId: id, message: text });
export const paymentAnswer: z.ZodType<PaymentAnswer> = z.object({
  leadId: id,
  leadValue: number,
  conversionSource: text,
  message: text,
});
export const statusAnswer: z.ZodType<TrackingStatus> = z.object({
  sessionId: text,
  hasAffiliate: z.boolean(),
  affiliateReference: text,
  clickId: id,
  clickedAt: text,
});

/** Whether an answer says that the service took the call: any 2xx, unless its body says `success: false`. */
export function isYes({ status, body }: Answer): boolean {
  return (
    status >= 200 && status < 300 && (body as { success?: unknown } | null | undefined)?.success !== false
  );
}

/** What a refusal says, read leniently from the error body of §7 and the status. */
export function refusalOf(
  { status, body, retryAfter }: Answer,
  { now, hide }: { now: number; hide: (text: string) => string },
) {
  const { error, message } = Object(body) as Record<string, unknown>;
  const clip = (text: string) => hide(text).slice(0, 500);
  return {
    status,
    error: typeof error === "string" ? clip(error) : String(status),
    message: typeof message === "string" ? clip(message) : `the service answered ${status}`,
    retryAfterMs: retryAfterMs(retryAfter, now),
  };
}
