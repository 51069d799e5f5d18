import type { DeliveryJournal } from "../delivery/attempts.js";
import type { DeliveryPlan, JournalCall, RemoteDelivery } from "../outbox/remote.js";
import type { EndpointState, PauseScope } from "../service/endpoint-state.js";
import { ENDPOINTS, type Endpoint } from "../service/endpoints.js";
import { monotonic, nextTick } from "../shared/real-timers.js";
import { replay } from "./record.js";

const ALL_OPEN = Object.fromEntries(ENDPOINTS.map((name) => [name, { state: "open" }])) as Record<
  Endpoint,
  EndpointState
>;

/** An engine in an outbox's thread, as the host's thread sees it. */
export interface RemoteEngine {
  readonly delivery: RemoteDelivery;
  /** Attempts under way, as of its last report. */
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** Makes it report each attempt as it begins. */
  tellAttempts(): void;
  stop(): void;
  abort(): void;
}

/** @param plan called each time a thread begins, so that only its caller keeps the key. */
export function createRemoteEngine({
  plan,
  journal,
}: {
  readonly plan: () => DeliveryPlan;
  readonly journal: DeliveryJournal;
}): RemoteEngine {
  let tellsAttempts = false;
  let engine: Parameters<RemoteDelivery["started"]>[0] | undefined;
  let inFlight = 0;
  let endpoints = ALL_OPEN;
  let heardAt = 0;
  const untold: JournalCall[] = [];
  const paused = new Set<PauseScope>();

  /** Replays the calls after the callers that waited for a receipt in the same message: an event is queued before it is delivered. */
  function tell(entries: readonly JournalCall[]): void {
    if (entries.length === 0) return;
    for (const [name, [scope]] of entries) {
      if (name === "paused") paused.add(scope as PauseScope);
      if (name === "resumed") paused.delete(scope as PauseScope);
    }
    untold.push(...entries);
    void Promise.resolve().then(() => nextTick(() => replay(untold.splice(0), journal)));
  }

  return {
    delivery: {
      plan: () => ({ ...plan(), tellsAttempts }),
      started(there) {
        engine = there;
      },
      hear(report) {
        ({ inFlight, endpoints } = report);
        heardAt = monotonic();
        tell(report.entries);
      },
      lost() {
        inFlight = 0;
        endpoints = ALL_OPEN;
        tell([...paused].map((scope) => ["resumed", [scope]]));
      },
    },
    get inFlight() {
      return inFlight;
    },
    get endpoints() {
      const since = monotonic() - heardAt;
      const asOfNow = (each: EndpointState): EndpointState =>
        each.state === "open" ? each : { ...each, pausedMs: each.pausedMs + since };
      return Object.fromEntries(
        ENDPOINTS.map((name) => [name, asOfNow(endpoints[name])]),
      ) as typeof endpoints;
    },
    tellAttempts() {
      tellsAttempts = true;
      engine?.tellAttempts();
    },
    stop: () => engine?.stop(),
    abort: () => engine?.abort(),
  };
}
