import type { EventKind, OutboxEvent } from "../events.js";

/** The endpoints that events are sent to (specification, §4.4, §4.2, §4.3, §4.1), the most urgent first. */
export const ENDPOINTS = ["lead/payment", "registration", "lead/registration", "click"] as const;

/** One of the four, by its path below `/api/v1/tracking/`. */
export type Endpoint = (typeof ENDPOINTS)[number];

/** The endpoint that an event is sent to: a registration by its click id (§4.2), else by its session id (§4.3). */
export function endpointOf({ kind, data }: Pick<OutboxEvent, "kind" | "data">): Endpoint {
  if (kind === "click") return "click";
  if (kind === "payment") return "lead/payment";
  return data.clickId === undefined ? "lead/registration" : "registration";
}

/** The kind of event that an endpoint takes. */
export function kindOf(endpoint: Endpoint): EventKind {
  if (endpoint === "click") return "click";
  return endpoint === "lead/payment" ? "payment" : "registration";
}
