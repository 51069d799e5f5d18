import type { OutboxEvent } from "../conversion/events.js";
import type { Endpoint } from "../conversion/kinds.js";
import { ArgumentError } from "../shared/errors.js";

/** `path` follows the base URL. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** The body of a click (§4.1). The client adds `clientId`. @inline */
export interface ClickRequest {
  /** The affiliate's reference code. */
  readonly affiliateReference: string;
  /** The click's own id, at most 256 characters. */
  readonly clickId?: string | undefined;
  /** The visitor's session id. */
  readonly sessionId?: string | undefined;
  /** The landing page's address. */
  readonly clickedUrl?: string | undefined;
  /** The page that led to it. */
  readonly referrerUrl?: string | undefined;
  /** The visitor's browser, as its User-Agent header says. */
  readonly userAgent?: string | undefined;
  /** Label of the traffic's source, such as `newsletter`. */
  readonly source?: string | undefined;
}

/** The body of a registration by click id (§4.2). @inline */
export interface RegistrationRequest {
  /** The click id, as in the cookie `svc_click_id`. */
  readonly clickId: string;
  /** The customer's e-mail address. */
  readonly email: string;
  /** The host's own id of the user. */
  readonly customerId?: string | undefined;
  /** The customer's name. */
  readonly customerName?: string | undefined;
}

/**
 * The body of a registration by session id (§4.3). The client adds `clientId` and `leadType`.
 * @inline
 */
export interface RegistrationLeadRequest {
  /** The customer's e-mail address. */
  readonly customerEmail: string;
  /** The customer's name. */
  readonly customerName?: string | undefined;
  /** The visitor's session id. */
  readonly sessionId: string;
}

/** The body of a payment (§4.4). The client adds `clientId` and `leadType`. @inline */
export interface PaymentLeadRequest {
  /** The customer's e-mail address. */
  readonly customerEmail: string;
  /** A decimal amount in major units: 19.9, not 1990. */
  readonly leadValue: number;
  /** The visitor's session id. */
  readonly sessionId?: string | undefined;
}

const TRACKING = "/api/v1/tracking";

/** The request for each endpoint (§4): the specified fields, in their order. */
export function callsFor(clientId: number) {
  return {
    click: (click: ClickRequest) =>
      post("click", {
        clientId,
        affiliateReference: click.affiliateReference,
        clickId: click.clickId,
        sessionId: click.sessionId,
        clickedUrl: click.clickedUrl,
        referrerUrl: click.referrerUrl,
        userAgent: click.userAgent,
        source: click.source,
      }),
    registration: ({ clickId, email, customerId, customerName }: RegistrationRequest) =>
      post("registration", { clickId, email, customerId, customerName }),
    registrationLead: ({ customerEmail, customerName, sessionId }: RegistrationLeadRequest) =>
      post("lead/registration", {
        clientId,
        leadType: "REGISTRATION",
        customerEmail,
        customerName,
        sessionId,
      }),
    paymentLead: ({ customerEmail, leadValue, sessionId }: PaymentLeadRequest) =>
      post("lead/payment", { clientId, leadType: "PAYMENT", customerEmail, leadValue, sessionId }),
    status: (sessionId: string): Call => ({
      method: "GET",
      path: `${TRACKING}/status/${pathSegment(sessionId)}`,
    }),
  };
}

function post(endpoint: Endpoint, body: object): Call {
  return { method: "POST", path: `${TRACKING}/${endpoint}`, body };
}

export type Calls = ReturnType<typeof callsFor>;

export function callFor(event: OutboxEvent, calls: Calls): Call {
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
