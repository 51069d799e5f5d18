import { en } from "zod/locales";
import * as z from "zod/mini";

// For the sandbox's answers. It changes nothing for others: the package has its own copy of zod.
z.config(en());

// §2 and §4 as schemas: they validate requests, and the OpenAPI document is made from them. §4's
// lists "give every field that a request may carry": hence strict objects.

/** A copy with a description for the OpenAPI document. */
function described<Schema extends z.ZodMiniType>(schema: Schema, description: string): Schema {
  const copy = z.clone(schema);
  z.globalRegistry.add(copy, { description });
  return copy;
}

const id = z.string().check(z.minLength(1), z.maxLength(256));
const clientId = described(z.int().check(z.positive()), "Numeric identifier of the program owner (§2.1)");
const affiliateReference = described(z.string().check(z.minLength(1)), "The affiliate's reference code");
const clickId = described(id, "Client-supplied unique id of the click");
const sessionId = described(id, "Client-supplied unique id of the visitor's session");
const email = described(
  z.email({ pattern: /^[^\s@]+@[^\s@]+$/, error: "expected an e-mail address" }),
  "The customer's e-mail address",
);
const leadValue = described(z.number().check(z.positive()), "Decimal amount in major units");
const url = z.url({ error: "expected an absolute URL" });

const success = z.boolean();
const message = described(z.string(), "Human-readable confirmation");
const leadId = described(z.int(), "Assigned by the service");
const numericClickId = described(z.int(), "Assigned by the service");

/** §7 */
export const errorResponse = z.object({
  error: described(z.string(), "Short error name"),
  message: z.string(),
  status: described(z.int(), "HTTP status code"),
});

/** The five endpoints of §4, under the names that `requireKeyFor` and the ledger use. */
export const endpoints = {
  /** §4.1 */
  click: {
    method: "POST",
    path: "/api/v1/tracking/click",
    summary: "Track a click",
    request: z.strictObject({
      clientId,
      affiliateReference,
      clickId: z.optional(clickId),
      sessionId: z.optional(sessionId),
      clickedUrl: z.optional(url),
      referrerUrl: z.optional(url),
      userAgent: z.optional(z.string()),
      source: described(z.optional(z.string()), "Traffic source label"),
    }),
    response: z.object({ success, clickId: numericClickId, sessionId: z.optional(sessionId), message }),
  },
  /** §4.2 */
  registration: {
    method: "POST",
    path: "/api/v1/tracking/registration",
    summary: "Track a registration",
    request: z.strictObject({
      clickId: described(clickId, "The value of the `svc_click_id` cookie"),
      email,
      customerId: described(z.optional(id), "The customer's internal user id"),
      customerName: z.optional(z.string()),
    }),
    response: z.object({ success, leadId, clickId, message }),
  },
  /** §4.3 */
  registrationLead: {
    method: "POST",
    path: "/api/v1/tracking/lead/registration",
    summary: "Track a registration lead (session-based alternative)",
    request: z.strictObject({
      clientId,
      leadType: z.literal("REGISTRATION"),
      customerEmail: email,
      customerName: z.optional(z.string()),
      sessionId,
    }),
    response: z.object({ success, leadId, sessionId, message }),
  },
  /** §4.4 */
  paymentLead: {
    method: "POST",
    path: "/api/v1/tracking/lead/payment",
    summary: "Track a payment lead",
    request: z.strictObject({
      clientId,
      leadType: z.literal("PAYMENT"),
      customerEmail: email,
      leadValue,
      sessionId: z.optional(sessionId),
    }),
    response: z.object({
      success,
      leadId,
      leadValue,
      conversionSource: z.literal("TRACKING_API"),
      message,
    }),
  },
  /** §2.4, §4.5 */
  status: {
    method: "GET",
    path: "/api/v1/tracking/status/{sessionId}",
    summary: "Get tracking status",
    request: undefined,
    response: z.object({
      sessionId,
      hasAffiliate: z.boolean(),
      affiliateReference: z.optional(affiliateReference),
      clickId: z.optional(numericClickId),
      clickedAt: z.optional(z.iso.datetime()),
    }),
  },
} as const satisfies Record<EndpointName, object>;

/** The five endpoints of the specification (§4.1 to §4.5), by name. */
export type EndpointName = "click" | "registration" | "registrationLead" | "paymentLead" | "status";
export const endpointNames = Object.keys(endpoints) as [EndpointName, ...EndpointName[]];

/** A valid request's body. */
export type RequestTo<Name extends Exclude<EndpointName, "status">> = z.infer<
  (typeof endpoints)[Name]["request"]
>;
