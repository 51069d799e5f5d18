import { en } from "zod/locales";
import * as z from "zod/mini";

// For the sandbox's answers. It changes nothing for others: the package has its own copy of zod.
z.config(en());

// §2 and §4 as schemas: they validate requests, and the OpenAPI document is made from them. §4's
// lists "give every field that a request may carry": hence strict objects.

const text = z.string();
const id = z.string().check(z.minLength(1), z.maxLength(256));
const clientId = z.int().check(z.positive());
const affiliateReference = z.string().check(z.minLength(1));
const email = z.email({ pattern: /^[^\s@]+@[^\s@]+$/, error: "expected an e-mail address" });
/** A decimal amount in major units. */
const leadValue = z.number().check(z.positive());
const url = z.url({ error: "expected an absolute URL" });
/** Every answer to a POST has it. */
const recorded = { success: z.boolean(), message: text };

/** §7 */
export const errorResponse = z.object({ error: text, message: text, status: z.int() });

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
      clickId: z.optional(id),
      sessionId: z.optional(id),
      clickedUrl: z.optional(url),
      referrerUrl: z.optional(url),
      userAgent: z.optional(text),
      source: z.optional(text),
    }),
    response: z.object({ ...recorded, clickId: z.int(), sessionId: z.optional(id) }),
  },
  /** §4.2 */
  registration: {
    method: "POST",
    path: "/api/v1/tracking/registration",
    summary: "Track a registration",
    request: z.strictObject({
      clickId: id,
      email,
      customerId: z.optional(id),
      customerName: z.optional(text),
    }),
    response: z.object({ ...recorded, leadId: z.int(), clickId: id }),
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
      customerName: z.optional(text),
      sessionId: id,
    }),
    response: z.object({ ...recorded, leadId: z.int(), sessionId: id }),
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
      sessionId: z.optional(id),
    }),
    response: z.object({
      ...recorded,
      leadId: z.int(),
      leadValue,
      conversionSource: z.literal("TRACKING_API"),
    }),
  },
  /** §2.4, §4.5 */
  status: {
    method: "GET",
    path: "/api/v1/tracking/status/{sessionId}",
    summary: "Get tracking status",
    request: undefined,
    response: z.object({
      sessionId: id,
      hasAffiliate: z.boolean(),
      affiliateReference: z.optional(affiliateReference),
      clickId: z.optional(z.int()),
      clickedAt: z.optional(z.iso.datetime()),
    }),
  },
} as const satisfies Record<EndpointName, object>;

/** The five endpoints of the specification (§4.1 to §4.5), by name. */
export type EndpointName = "click" | "registration" | "registrationLead" | "paymentLead" | "status";
export const endpointNames = Object.keys(endpoints) as [EndpointName, ...EndpointName[]];

/** A valid request's body. */
export type RequestTo<N extends Exclude<EndpointName, "status">> = z.infer<(typeof endpoints)[N]["request"]>;
