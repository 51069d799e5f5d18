import type { DeliveryJournal } from "../delivery/attempts.js";
import type { DeliveryPlan, JournalCall, RemoteDelivery } from "../outbox/remote.js";
import type { EndpointState, PauseScope } from "../service/endpoint-state.js";
import { byEndpoint } from "../service/endpoints.js";
import { monotonic, nextTick } from "../shared/real-timers.js";
import { replay } from "./journal-recorder.js";

const ALL_OPEN = byEndpoint((): EndpointState => ({ state: "open" }));

/**
 * An engine in an outbox's thread, as the host's thread sees it. Calls `plan` each time a thread
 * begins, so that only its caller keeps the key.
 */
export function createRemoteEngine(plan: () => DeliveryPlan, journal: DeliveryJournal) {
  let reportsAttempts = false;
  let engine: Parameters<RemoteDelivery["started"]>[0] | undefined;
  let inFlight = 0;
  let endpoints = ALL_OPEN;
  let receivedAt = 0;
  const notReplayed: JournalCall[] = [];
  const paused = new Set<PauseScope>();

  /** Replays calls after receipts have reached their callers: queued comes before delivered. */
  function replaySoon(entries: readonly JournalCall[]): void {
    if (entries.length === 0) return;
    for (const [name, [scope]] of entries) {
      if (name === "paused") paused.add(scope as PauseScope);
      if (name === "resumed") paused.delete(scope as PauseScope);
    }
    notReplayed.push(...entries);
    void Promise.resolve().then(() => nextTick(() => replay(notReplayed.splice(0), journal)));
  }

  return {
    delivery: {
      plan: () => ({ ...plan(), reportsAttempts }),
      started(there) {
        engine = there;
      },
      receive(report) {
        ({ inFlight, endpoints } = report);
        receivedAt = monotonic();
        replaySoon(report.entries);
      },
      lost() {
        inFlight = 0;
        endpoints = ALL_OPEN;
        replaySoon([...paused].map((scope) => ["resumed", [scope]]));
      },
    } satisfies RemoteDelivery,
    /** Attempts under way, as of the thread's last report. */
    get inFlight() {
      return inFlight;
    },
    get endpoints() {
      const since = monotonic() - receivedAt;
      return byEndpoint((name): EndpointState => {
        const each = endpoints[name];
        return each.state === "open" ? each : { ...each, pausedMs: each.pausedMs + since };
      });
    },
    reportAttempts() {
      reportsAttempts = true;
      engine?.reportAttempts();
    },
    stop: () => engine?.stop(),
    abort: () => engine?.abort(),
  };
}
