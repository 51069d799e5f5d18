import type { EndpointState, Journal, PauseScope } from "../journal.js";
import { ENDPOINTS, type Endpoint } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import type { Health, PauseReason, Trouble } from "./health.js";

interface Details {
  readonly status?: number;
  readonly message: string;
}

/** Tells the journal of pauses as they begin, change their reason and end: each once, however often it is looked at. */
export function createAnnouncer(health: Health, journal: Pick<Journal, "paused" | "resumed">, clock: Clock) {
  const announced = new Map<PauseScope, PauseReason>();

  function compare(scope: PauseScope, trouble: Trouble | undefined, details: () => Details): void {
    const before = announced.get(scope);
    if (trouble === undefined) {
      if (announced.delete(scope)) journal.resumed(scope);
    } else if (trouble.reason !== before) {
      announced.set(scope, trouble.reason);
      const now = clock.monotonic();
      const pausedMs = Math.max(0, now - trouble.since);
      const { status, message } = details();
      const because = status === undefined ? message : `answered ${status}: ${message}`;
      journal.paused(scope, {
        reason: trouble.reason,
        because,
        pausedMs,
        forMs: Math.max(0, trouble.until - now),
      });
    }
  }

  return {
    /** @param details what the attempt that has just ended came to. */
    tell(details: () => Details): void {
      compare("origin", health.originTrouble, details);
      for (const endpoint of ENDPOINTS) compare(endpoint, health.troubleOf(endpoint), details);
    },
    states(): Record<Endpoint, EndpointState> {
      const now = clock.monotonic();
      const stateOf = (endpoint: Endpoint): EndpointState => {
        const trouble = health.originTrouble ?? health.troubleOf(endpoint);
        if (!trouble) return { state: "open" };
        return { state: "paused", reason: trouble.reason, pausedMs: Math.max(0, now - trouble.since) };
      };
      return Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, stateOf(endpoint)])) as Record<
        Endpoint,
        EndpointState
      >;
    },
  };
}
