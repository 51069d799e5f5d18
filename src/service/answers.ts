import * as z from "zod/mini";

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

/** The answer to a registration by click id (§4.2). @inline */
export interface RegistrationAnswer {
  /** The service's own number for the registration. */
  readonly leadId?: ServiceId | undefined;
  /** The click id of the request. */
  readonly clickId?: ServiceId | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/** The answer to a registration by session id (§4.3). Unspecified: read as §4.4's. @inline */
export interface RegistrationLeadAnswer {
  /** The service's own number for the registration. */
  readonly leadId?: ServiceId | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/** The answer to a payment (§4.4). @inline */
export interface PaymentAnswer {
  /** The service's own number for the payment. */
  readonly leadId?: ServiceId | undefined;
  /** The amount as the service has taken it, in major units. */
  readonly leadValue?: number | undefined;
  /** `TRACKING_API` for payments that are reported this way. */
  readonly conversionSource?: string | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
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

// Written out, not inferred, so that the published types do not import zod.
export const clickAnswer: z.ZodMiniType<ClickAnswer> = z.object({
  clickId: id,
  sessionId: text,
  message: text,
});
export const registrationAnswer: z.ZodMiniType<RegistrationAnswer> = z.object({
  leadId: id,
  clickId: id,
  message: text,
});
export const leadAnswer: z.ZodMiniType<RegistrationLeadAnswer> = z.object({ leadId: id, message: text });
export const paymentAnswer: z.ZodMiniType<PaymentAnswer> = z.object({
  leadId: id,
  leadValue: number,
  conversionSource: text,
  message: text,
});
export const statusAnswer: z.ZodMiniType<TrackingStatus> = z.object({
  sessionId: text,
  hasAffiliate: z.boolean(),
  affiliateReference: text,
  clickId: id,
  clickedAt: text,
});
