import { z } from "zod";
import type { OutboxEvent } from "../events.js";
import type { Clock } from "../shared/clock.js";
import { ArgumentError, errorCodeOf, NoAnswerError, TrackingApiError } from "../shared/errors.js";
import { retryAfterMs } from "./retry-after.js";
import type { Answer, Call, Transport } from "./transport.js";

/** Body of §4.1, without the `clientId` that the client fills in. */
export interface ClickRequest {
  readonly affiliateReference: string;
  readonly clickId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly clickedUrl?: string | undefined;
  readonly referrerUrl?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly source?: string | undefined;
}

/** Body of §4.2. */
export interface RegistrationRequest {
  readonly clickId: string;
  readonly email: string;
  readonly customerId?: string | undefined;
  readonly customerName?: string | undefined;
}

/** Body of §4.3, without `clientId` and `leadType`. */
export interface RegistrationLeadRequest {
  readonly customerEmail: string;
  readonly customerName?: string | undefined;
  readonly sessionId: string;
}

/** Body of §4.4, without `clientId` and `leadType`. */
export interface PaymentLeadRequest {
  readonly customerEmail: string;
  /** Decimal amount in major units. */
  readonly leadValue: number;
  readonly sessionId?: string | undefined;
}

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
const clickAnswer: z.ZodType<ClickAnswer> = z.object({ clickId: id, sessionId: text, message: text });
const registrationAnswer: z.ZodType<RegistrationAnswer> = z.object({
  leadId: id,
  clickId: id,
  message: text,
});
const leadAnswer: z.ZodType<RegistrationLeadAnswer> = z.object({ leadId: id, message: text });
const paymentAnswer: z.ZodType<PaymentAnswer> = z.object({
  leadId: id,
  leadValue: number,
  conversionSource: text,
  message: text,
});
const statusAnswer: z.ZodType<TrackingStatus> = z.object({
  sessionId: text,
  hasAffiliate: z.boolean(),
  affiliateReference: text,
  clickId: id,
  clickedAt: text,
});

/** Options of a single call. */
export interface CallOptions {
  /** Sent as `Idempotency-Key`, so that a service which knows the header can tell a repetition. */
  readonly idempotencyKey?: string;
}

/**
 * The five endpoints of the specification (section 4). One attempt each, awaited.
 *
 * Each rejects with `TrackingApiError` when the service says no, with `NoAnswerError` when it says nothing,
 * and with `ArgumentError`, before anything is sent, for what could not be sent as it is.
 */
export interface TrackingClient {
  /** `POST /api/v1/tracking/click` (§4.1). */
  click(click: ClickRequest, options?: CallOptions): Promise<ClickAnswer>;
  /** `POST /api/v1/tracking/registration` (§4.2): a registration, by click id. */
  registration(registration: RegistrationRequest, options?: CallOptions): Promise<RegistrationAnswer>;
  /** `POST /api/v1/tracking/lead/registration` (§4.3): a registration, by session id. */
  registrationLead(lead: RegistrationLeadRequest, options?: CallOptions): Promise<RegistrationLeadAnswer>;
  /** `POST /api/v1/tracking/lead/payment` (§4.4). */
  paymentLead(lead: PaymentLeadRequest, options?: CallOptions): Promise<PaymentAnswer>;
  /** `GET /api/v1/tracking/status/{sessionId}` (§4.5): whether a session is associated with a click. */
  status(sessionId: string): Promise<TrackingStatus>;
}

const TRACKING = "/api/v1/tracking";

/** The request for each endpoint, to the letter of the specification: its fields, in its order, and no others. */
export function callsFor(clientId: number) {
  return {
    click: (click: ClickRequest): Call => ({
      method: "POST",
      path: `${TRACKING}/click`,
      body: {
        clientId,
        affiliateReference: click.affiliateReference,
        clickId: click.clickId,
        sessionId: click.sessionId,
        clickedUrl: click.clickedUrl,
        referrerUrl: click.referrerUrl,
        userAgent: click.userAgent,
        source: click.source,
      },
    }),
    registration: ({ clickId, email, customerId, customerName }: RegistrationRequest): Call => ({
      method: "POST",
      path: `${TRACKING}/registration`,
      body: { clickId, email, customerId, customerName },
    }),
    registrationLead: ({ customerEmail, customerName, sessionId }: RegistrationLeadRequest): Call => ({
      method: "POST",
      path: `${TRACKING}/lead/registration`,
      body: { clientId, leadType: "REGISTRATION", customerEmail, customerName, sessionId },
    }),
    paymentLead: ({ customerEmail, leadValue, sessionId }: PaymentLeadRequest): Call => ({
      method: "POST",
      path: `${TRACKING}/lead/payment`,
      body: { clientId, leadType: "PAYMENT", customerEmail, leadValue, sessionId },
    }),
    status: (sessionId: string): Call => ({
      method: "GET",
      path: `${TRACKING}/status/${pathSegment(sessionId)}`,
    }),
  };
}

export type Calls = ReturnType<typeof callsFor>;

/** The one call that reports an event. */
export function callFor(event: OutboxEvent, calls: Calls): Call {
  return { idempotencyKey: event.id, ...bareCallFor(event, calls) };
}

function bareCallFor(event: OutboxEvent, calls: Calls): Call {
  switch (event.kind) {
    case "click":
      return calls.click(event.data);
    case "payment":
      return calls.paymentLead(event.data);
    case "registration": {
      const { clickId, sessionId, email, customerId, customerName } = event.data;
      if (clickId !== undefined) return calls.registration({ clickId, email, customerId, customerName });
      return calls.registrationLead({ customerEmail: email, customerName, sessionId: sessionId as string });
    }
  }
}

// `encodeURIComponent` leaves dots alone, and whatever parses the URL on its way folds a segment of them away.
function pathSegment(sessionId: string): string {
  if (typeof sessionId !== "string" || ["", ".", ".."].includes(sessionId) || !sessionId.isWellFormed()) {
    throw new ArgumentError(
      `client.status: the session id must be a non-empty string other than "." and "..", got ${JSON.stringify(sessionId)}`,
    );
  }
  return encodeURIComponent(sessionId);
}

/** `hide` takes out of a service's words what must not be shown again. */
export function createClient(
  transport: Transport,
  { clientId, clock, hide }: { clientId: number; clock: Clock; hide: (text: string) => string },
): TrackingClient {
  const calls = callsFor(clientId);

  async function ask(call: Call): Promise<unknown> {
    const attempt = await transport.send(call);
    if (!attempt.answered) {
      const { requestSent, error } = attempt;
      throw new NoAnswerError(
        `${call.method} ${call.path}: no answer, and the request ${requestSent ? "may have been taken" : "was not sent"}: ${hide(error.message || errorCodeOf(error))}`,
        requestSent,
        error,
      );
    }
    if (!isYes(attempt)) throw new TrackingApiError(refusalOf(attempt, { now: clock.now(), hide }));
    // A 2xx counts whatever its body is; one that is no object has nothing to say.
    return attempt.body !== null && typeof attempt.body === "object" && !Array.isArray(attempt.body)
      ? attempt.body
      : {};
  }

  async function post<T>(call: Call, answer: z.ZodType<T>, options: CallOptions = {}): Promise<T> {
    return answer.parse(await ask({ ...call, ...options }));
  }

  return {
    click: async (click, options) => post(calls.click(click), clickAnswer, options),
    registration: async (registration, options) =>
      post(calls.registration(registration), registrationAnswer, options),
    registrationLead: async (lead, options) => post(calls.registrationLead(lead), leadAnswer, options),
    paymentLead: async (lead, options) => post(calls.paymentLead(lead), paymentAnswer, options),
    async status(sessionId) {
      const answer = statusAnswer.safeParse(await ask(calls.status(sessionId)));
      if (answer.success) return answer.data;
      throw new TrackingApiError({
        status: 200,
        error: "Unreadable answer",
        message: "the service answered the status request with something that is no status",
      });
    },
  };
}

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
