import { z } from "zod";

// The specification's §2 and §4 as schemas: they validate what arrives, and the OpenAPI document is made from them.
// The lists of §4 "give every field that a request may carry", hence strict objects.

const id = z.string().min(1).max(256);
const clientId = z.int().positive().meta({ description: "Numeric identifier of the program owner (§2.1)" });
const affiliateReference = z.string().min(1).meta({ description: "The affiliate's reference code" });
const clickId = id.meta({ description: "Client-supplied unique id of the click" });
const sessionId = id.meta({ description: "Client-supplied unique id of the visitor's session" });
const email = z
  .email({ pattern: /^[^\s@]+@[^\s@]+$/, error: "expected an e-mail address" })
  .meta({ description: "The customer's e-mail address" });
const leadValue = z.number().positive().meta({ description: "Decimal amount in major units" });
const url = z.url({ error: "expected an absolute URL" });

const success = z.boolean();
const message = z.string().meta({ description: "Human-readable confirmation" });
const leadId = z.int().meta({ description: "Assigned by the service" });
const numericClickId = z.int().meta({ description: "Assigned by the service" });

/** §4.1 */
export const clickRequest = z.strictObject({
  clientId,
  affiliateReference,
  clickId: clickId.optional(),
  sessionId: sessionId.optional(),
  clickedUrl: url.optional(),
  referrerUrl: url.optional(),
  userAgent: z.string().optional(),
  source: z.string().optional().meta({ description: "Traffic source label" }),
});
export const clickResponse = z.object({
  success,
  clickId: numericClickId,
  sessionId: sessionId.optional(),
  message,
});

/** §4.2 */
export const registrationRequest = z.strictObject({
  clickId: clickId.meta({ description: "The value of the `svc_click_id` cookie" }),
  email,
  customerId: id.optional().meta({ description: "The customer's internal user id" }),
  customerName: z.string().optional(),
});
export const registrationResponse = z.object({ success, leadId, clickId, message });

/** §4.3 */
export const registrationLeadRequest = z.strictObject({
  clientId,
  leadType: z.literal("REGISTRATION"),
  customerEmail: email,
  customerName: z.string().optional(),
  sessionId,
});
export const registrationLeadResponse = z.object({ success, leadId, sessionId, message });

/** §4.4 */
export const paymentLeadRequest = z.strictObject({
  clientId,
  leadType: z.literal("PAYMENT"),
  customerEmail: email,
  leadValue,
  sessionId: sessionId.optional(),
});
export const paymentLeadResponse = z.object({
  success,
  leadId,
  leadValue,
  conversionSource: z.literal("TRACKING_API"),
  message,
});

/** §2.4, §4.5 */
export const statusResponse = z.object({
  sessionId,
  hasAffiliate: z.boolean(),
  affiliateReference: affiliateReference.optional(),
  clickId: numericClickId.optional(),
  clickedAt: z.iso.datetime().optional(),
});

/** §7 */
export const errorResponse = z.object({
  error: z.string().meta({ description: "Short error name" }),
  message: z.string(),
  status: z.int().meta({ description: "HTTP status code" }),
});

export type ClickRequest = z.infer<typeof clickRequest>;
export type RegistrationRequest = z.infer<typeof registrationRequest>;
export type RegistrationLeadRequest = z.infer<typeof registrationLeadRequest>;
export type PaymentLeadRequest = z.infer<typeof paymentLeadRequest>;

/** The five endpoints of §4, under the names that `requireKeyFor` and the ledger use. */
export const endpoints = {
  click: {
    method: "POST",
    path: "/api/v1/tracking/click",
    summary: "Track a click",
    request: clickRequest,
    response: clickResponse,
  },
  registration: {
    method: "POST",
    path: "/api/v1/tracking/registration",
    summary: "Track a registration",
    request: registrationRequest,
    response: registrationResponse,
  },
  registrationLead: {
    method: "POST",
    path: "/api/v1/tracking/lead/registration",
    summary: "Track a registration lead (session-based alternative)",
    request: registrationLeadRequest,
    response: registrationLeadResponse,
  },
  paymentLead: {
    method: "POST",
    path: "/api/v1/tracking/lead/payment",
    summary: "Track a payment lead",
    request: paymentLeadRequest,
    response: paymentLeadResponse,
  },
  status: {
    method: "GET",
    path: "/api/v1/tracking/status/{sessionId}",
    summary: "Get tracking status",
    request: undefined,
    response: statusResponse,
  },
} as const satisfies Record<EndpointName, object>;

/** The five endpoints of the specification (§4.1 to §4.5), by name. */
export type EndpointName = "click" | "registration" | "registrationLead" | "paymentLead" | "status";
export const endpointNames = Object.keys(endpoints) as [EndpointName, ...EndpointName[]];
