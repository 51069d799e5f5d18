import type { EndpointName, RequestTo } from "../endpoints.js";
import type { FaultMode } from "../faults.js";

/** Why a registration or a payment was linked to no click. */
export type NotLinked =
  | "no-click-with-this-click-id"
  | "no-click-with-this-session-id"
  | "no-session-id"
  | "click-came-after"
  | "another-visitors-click";

/** What a lead was linked through. */
export type LinkedThrough = "clickId" | "sessionId" | "customerEmail";

/** A click as the ledger keeps it (§2.2). What the request left out is null. */
export interface Click {
  /** Always `click`. */
  readonly kind: "click";
  /** The numeric id that the service assigned, as in the responses' `clickId`. */
  readonly id: number;
  /** `clickedAt`: ISO 8601 in UTC. */
  readonly at: string;
  /** The affiliate's reference code. */
  readonly affiliateReference: string;
  /** The client-supplied id, as in the `svc_click_id` cookie. */
  readonly clickId: string | null;
  /** The visitor's session id. */
  readonly sessionId: string | null;
  /** The landing page's address. */
  readonly clickedUrl: string | null;
  /** The page that led to it. */
  readonly referrerUrl: string | null;
  /** The visitor's browser. */
  readonly userAgent: string | null;
  /** Label of the traffic's source. */
  readonly source: string | null;
}

/** What registrations and payments have in common (§2.3). What the request left out is null. */
interface LeadFields {
  /** `leadId`, assigned by the service. */
  readonly id: number;
  /** ISO 8601 in UTC. */
  readonly at: string;
  /** The endpoint that it came through. */
  readonly endpoint: EndpointName;
  /** The click id that it carried. */
  readonly clickId: string | null;
  /** The session id that it carried. */
  readonly sessionId: string | null;
  /** `email` of §4.2, `customerEmail` of §4.3 and §4.4. */
  readonly customerEmail: string;
  /** The host's own id of the customer. */
  readonly customerId: string | null;
  /** The customer's name. */
  readonly customerName: string | null;
  /** The numeric id of the click that it was linked to. */
  readonly linkedClick: number | null;
  /** What it was linked through. */
  readonly linkedThrough: LinkedThrough | null;
  /** Why it was linked to no click. */
  readonly notLinked: NotLinked | null;
  /** The affiliate whom the linked click credits. */
  readonly affiliateReference: string | null;
}

/** A registration as the ledger keeps it. */
export interface Registration extends LeadFields {
  /** Always `registration`. */
  readonly kind: "registration";
  /** A registration has no value. */
  readonly leadValue: null;
}

/** A payment as the ledger keeps it. */
export interface Payment extends LeadFields {
  /** Always `payment`. */
  readonly kind: "payment";
  /** Decimal amount in major units. */
  readonly leadValue: number;
}

/** A registration or a payment (§2.3). */
export type Lead = Registration | Payment;

/** A click that came, without what its request left out. */
export type NewClick = Pick<Click, "affiliateReference"> & Partial<RequestTo<"click">>;

/** A registration or payment that came, without what its request left out. */
export type NewLead = Pick<Lead, "kind" | "endpoint" | "customerEmail"> &
  Partial<Omit<RequestTo<"registration">, "email"> & Omit<RequestTo<"paymentLead">, "leadType">> & {
    readonly leadType?: string;
  };

/** What it is linked to, or why to no click. */
export type Link = Pick<Lead, "linkedClick" | "linkedThrough" | "notLinked" | "affiliateReference">;

/** A request to one of the tracking endpoints, and what became of it. */
export interface RecordedRequest {
  /** Always `request`. */
  readonly kind: "request";
  /** A number that rises by one with each request. */
  readonly id: number;
  /** When it arrived: ISO 8601 in UTC. */
  readonly at: string;
  /** `GET` or `POST`, as a rule. */
  readonly method: string;
  /** Path and query as they were sent. */
  readonly path: string;
  /** Lower-cased names; keys and cookies are masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it was sent; null if there was none or it was over 64 KiB. */
  readonly body: string | null;
  /** Null if no answer was given (hang, reset, garbage). */
  readonly status: number | null;
  /** The answer's body; null if no answer was given. */
  readonly response: string | null;
  /** How long the answer took, in milliseconds. */
  readonly ms: number;
  /** The fault in force. */
  readonly fault: FaultMode;
  /** The `Idempotency-Key` that it carried. */
  readonly idempotencyKey: string | null;
  /** Whether the answer repeats an earlier one with the same Idempotency-Key. */
  readonly replayed: boolean;
  /** The numeric id of the click that it reported; null if none was recorded. */
  readonly recordedClick: number | null;
  /** The `leadId` of the registration or payment that it reported; null if none was recorded. */
  readonly recordedLead: number | null;
}

/** The entries in the ledger, by kind. */
export interface Entries {
  readonly click: Click;
  readonly registration: Registration;
  readonly payment: Payment;
  readonly request: RecordedRequest;
}

export type Kind = keyof Entries;
/** Anything that is in the ledger. */
export type Entry = Entries[Kind];

/** Some of an entry's fields, each to be equal. */
export type Where<E> = { readonly [F in keyof E]?: E[F] | undefined };

export type Expected<K extends Kind> = { readonly kind: K } & Where<Omit<Entries[K], "kind">>;

export function matches(entry: Entry, where: object): boolean {
  const fields = entry as unknown as Record<string, unknown>;
  return Object.entries(where).every(([field, value]) => value === undefined || fields[field] === value);
}
