import * as z from "zod/mini";

// An id is an integer in one answer and a string in another (section 2.2), so both are accepted everywhere.
type ServiceId = number | string;
const serviceId = z.union([z.number(), z.string()]);

// Answers are read leniently: a field that is null, or not of the specified type, counts as left out.
const text = z.catch(z.optional(z.string()), undefined);
const id = z.catch(z.optional(serviceId), undefined);
const number = z.catch(z.optional(z.number()), undefined);

/** The answer to a click (§4.1). A field that the service leaves out or mistypes is `undefined`. */
export interface ClickAnswer {
  /** The service's own number for the click. */
  readonly clickId?: ServiceId | undefined;
  /** The session id of the request. */
  readonly sessionId?: string | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/** The answer to a registration by click id (§4.2). */
export interface RegistrationAnswer {
  /** The service's own number for the registration. */
  readonly leadId?: ServiceId | undefined;
  /** The click id of the request. */
  readonly clickId?: ServiceId | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/** The answer to a registration by session id (§4.3). The specification does not show it; the fields of §4.4 are read where present. */
export interface RegistrationLeadAnswer {
  /** The service's own number for the registration. */
  readonly leadId?: ServiceId | undefined;
  /** The service's confirmation, for people. */
  readonly message?: string | undefined;
}

/** The answer to a payment (§4.4). */
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

/** The answer to a status request (§4.5). Without an affiliate, fields that the service leaves out or sends as null are `undefined`. */
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

// The types above are written out, not inferred, so that the published types do not import zod.
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
