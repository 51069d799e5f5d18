import type { EndpointState, Journal, PauseReason, PauseScope } from "../journal/journal.js";
import { byEndpoint, ENDPOINTS, type Endpoint } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import type { Details } from "./details.js";
import type { Health } from "./health.js";
import type { Pause } from "./outage.js";

/** What the attempt that has just ended said. */
export type NoticeDetails = Pick<Details, "status" | "message">;

/** Reports to the journal, once each, that a pause begins, changes its reason or ends. */
export function createAnnouncer(health: Health, journal: Pick<Journal, "paused" | "resumed">, clock: Clock) {
  const announced = new Map<PauseScope, PauseReason>();

  function compare(scope: PauseScope, pause: Pause | undefined, details: () => NoticeDetails): void {
    const before = announced.get(scope);
    if (pause === undefined) {
      if (announced.delete(scope)) journal.resumed(scope);
    } else if (pause.reason !== before) {
      announced.set(scope, pause.reason);
      const now = clock.monotonic();
      const pausedMs = Math.max(0, now - pause.since);
      const { status, message } = details();
      const because = status === undefined ? message : `answered ${status}: ${message}`;
      const forMs = Math.max(0, pause.until - now);
      journal.paused(scope, { reason: pause.reason, because, pausedMs, forMs });
    }
  }

  return {
    report(details: () => NoticeDetails): void {
      compare("origin", health.originPause, details);
      for (const endpoint of ENDPOINTS) compare(endpoint, health.pauseOf(endpoint), details);
    },
    states(): Record<Endpoint, EndpointState> {
      const now = clock.monotonic();
      return byEndpoint((endpoint) => {
        const pause = health.originPause ?? health.pauseOf(endpoint);
        if (!pause) return { state: "open" };
        return { state: "paused", reason: pause.reason, pausedMs: Math.max(0, now - pause.since) };
      });
    },
  };
}
