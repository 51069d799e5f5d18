import type { OutboxEvent } from "../events.js";
import { ArgumentError } from "../shared/errors.js";

/** One HTTP request to the service. `path` follows the base URL. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** The body of a click (§4.1). The client adds `clientId`. */
export interface ClickRequest {
  readonly affiliateReference: string;
  readonly clickId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly clickedUrl?: string | undefined;
  readonly referrerUrl?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly source?: string | undefined;
}

/** The body of a registration by click id (§4.2). */
export interface RegistrationRequest {
  readonly clickId: string;
  readonly email: string;
  readonly customerId?: string | undefined;
  readonly customerName?: string | undefined;
}

/** The body of a registration by session id (§4.3). The client adds `clientId` and `leadType`. */
export interface RegistrationLeadRequest {
  readonly customerEmail: string;
  readonly customerName?: string | undefined;
  readonly sessionId: string;
}

/** The body of a payment (§4.4). The client adds `clientId` and `leadType`. */
export interface PaymentLeadRequest {
  readonly customerEmail: string;
  /** A decimal amount in major units: 19.9, not 1990. */
  readonly leadValue: number;
  readonly sessionId?: string | undefined;
}

const TRACKING = "/api/v1/tracking";

/** The request for each endpoint (specification, section 4): its fields in its order, and no others. */
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

/** The call that reports an event, with the event's id as idempotency key. */
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

// `encodeURIComponent` keeps dots, and URL parsers on the way remove a segment of one or two dots.
function pathSegment(sessionId: string): string {
  if (typeof sessionId !== "string" || ["", ".", ".."].includes(sessionId) || !sessionId.isWellFormed()) {
    throw new ArgumentError(
      `client.status: the session id must be a non-empty string other than "." and "..", got ${JSON.stringify(sessionId)}`,
    );
  }
  return encodeURIComponent(sessionId);
}
