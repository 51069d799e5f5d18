import type { EventKind, OutboxEvent } from "../events.js";
import { type Endpoint, KINDS, rowOf } from "../kinds.js";

export type { Endpoint };

/** The endpoints that events are sent to (specification, §4.4, §4.2, §4.3, §4.1), the most urgent first. */
export const ENDPOINTS: readonly Endpoint[] = KINDS.flatMap((kind) => rowOf(kind).endpoints);

const KIND_OF = Object.fromEntries(
  KINDS.flatMap((kind) => rowOf(kind).endpoints.map((endpoint) => [endpoint, kind])),
) as Readonly<Record<Endpoint, EventKind>>;

/** The endpoint that an event is sent to: a registration by its click id (§4.2), else by its session id (§4.3). */
export function endpointOf({ kind, data }: Pick<OutboxEvent, "kind" | "data">): Endpoint {
  const [first, withoutClickId = first] = rowOf(kind).endpoints;
  return data.clickId === undefined ? withoutClickId : first;
}

/** The kind of event that an endpoint takes. */
export function kindOf(endpoint: Endpoint): EventKind {
  return KIND_OF[endpoint];
}
