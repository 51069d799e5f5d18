import type { EventKind, OutboxEvent } from "../conversion/events.js";
import { type Endpoint, KINDS, rowOf } from "../conversion/kinds.js";

export type { Endpoint };

/** The endpoints that events are sent to (§4.4, §4.2, §4.3, §4.1), the most urgent first. */
export const ENDPOINTS: readonly Endpoint[] = KINDS.flatMap((kind) => rowOf(kind).endpoints);

/** One value for each endpoint. */
export function byEndpoint<T>(of: (endpoint: Endpoint) => T): Record<Endpoint, T> {
  return Object.fromEntries(ENDPOINTS.map((name) => [name, of(name)])) as Record<Endpoint, T>;
}

/** A registration is sent by its click id (§4.2), otherwise by its session id (§4.3). */
export function endpointOf({ kind, data }: Pick<OutboxEvent, "kind" | "data">): Endpoint {
  const [first, withoutClickId = first] = rowOf(kind).endpoints;
  return data.clickId === undefined ? withoutClickId : first;
}

export function kindOf(endpoint: Endpoint): EventKind {
  const isOf = (kind: EventKind) => (rowOf(kind).endpoints as readonly Endpoint[]).includes(endpoint);
  return KINDS.find(isOf) as EventKind;
}

/** What is paused: the whole service, or one of its endpoints. @inline */
export type PauseScope = "origin" | Endpoint;

/** Why nothing but probes is sent. @inline */
export type PauseReason =
  | "failing"
  | "silent"
  | "throttled"
  | "unauthorized"
  | "misconfigured"
  | "unreachable";

/** While an endpoint is paused, only probes are sent. */
export type EndpointState =
  | { readonly state: "open" }
  | {
      readonly state: "paused";
      /** What is wrong, in one word. */
      readonly reason: PauseReason;
      /** For how long it has been so, in milliseconds. */
      readonly pausedMs: number;
    };
