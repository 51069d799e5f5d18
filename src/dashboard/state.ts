import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { ENDPOINTS, kindOf } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import type { Affiliate } from "../tracker.js";
import { shownText } from "./dead-letters.js";
import type { recordRecent } from "./recent.js";

/** What the page shows, without the dead letters. Does no I/O. */
export function createState(
  tracker: Pick<Affiliate, "stats">,
  recent: ReturnType<typeof recordRecent>,
  clock: Clock,
) {
  const { pid } = process;
  const since = at(recent.since);
  const self = { id: randomUUID(), name: `${hostname()}, process ${pid}`, since };

  return function state() {
    const now = clock.now();
    const { queued, scheduled, oldestMs, waiting, dead, trouble, endpoints, ...ofProcess } = tracker.stats();
    return {
      at: at(now),
      outbox: {
        queued,
        oldestMs,
        scheduled: scheduled ?? null,
        waiting: waiting ?? null,
        dead,
        ...(trouble !== undefined && { trouble: shownText(trouble) }),
      },
      process: {
        ...self,
        ...ofProcess,
        endpoints: ENDPOINTS.map((endpoint) => {
          const { state, ...pause } = endpoints[endpoint];
          const named = { endpoint, kind: kindOf(endpoint), state };
          return "pausedMs" in pause
            ? { ...named, reason: pause.reason, since: at(now - pause.pausedMs) }
            : named;
        }),
        lastHour: recent.lastHour(),
        failures: recent.failures().map(({ firstAt, lastAt, because, ...failure }) => ({
          ...failure,
          because: shownText(because),
          firstAt: at(firstAt),
          lastAt: at(lastAt),
        })),
      },
    };
  };
}

const at = (ms: number) => new Date(ms).toISOString();
