import type { Journal } from "../journal/journal.js";
import type { Outbox } from "../outbox/outbox.js";
import type { Attempt } from "../service/attempt.js";
import type { Calls } from "../service/calls.js";
import {
  byEndpoint,
  ENDPOINTS,
  type Endpoint,
  type EndpointState,
  type PauseScope,
} from "../service/endpoints.js";
import type { Transport } from "../service/transport.js";
import type { Clock } from "../shared/clock.js";
import { harmless } from "../shared/harmless.js";
import { type Details, detailsOf } from "./details.js";
import type { Health, StatusAnswer } from "./health.js";
import type { Pause } from "./outage.js";
import { BODY_MS, isOfGateway, type Outcome, outcomeOf } from "./outcome.js";

export interface WatchOptions {
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  readonly journal: Journal;
  readonly unanswered?: Outbox["unanswered"];
  /** Removes from the service's words what must not be shown. */
  readonly hide: (text: string) => string;
  /** More events may be claimed. */
  readonly onCapacity: () => void;
  readonly clock: Clock;
}

// It reads only, and is about no visitor: any answer shows that the service works.
const PROBE_SESSION = "express-affiliate-probe";

/**
 * What health needs beside events' attempts: it asks the status endpoint, reads what other
 * processes show, and reports each pause to the journal.
 */
export function createWatch(health: Health, options: WatchOptions) {
  const { transport, calls, journal, unanswered, hide, onCapacity, clock } = options;
  const announced = new Map<PauseScope, Pause>();
  let stopped = false;
  let cancelPoll = () => {};

  /** Looks at what other processes show. If the storage fails, this one's own attempts decide. */
  async function look(endpoint: Endpoint): Promise<void> {
    try {
      const now = clock.monotonic();
      const read = await unanswered?.(endpoint);
      if (!read || !health.endpoints[endpoint].learn(read, now)) return;
      report(() => ({ code: "", message: "another process on this storage had no answer" }));
      onCapacity();
      schedulePoll();
    } catch {
      // Storing and claiming report what is wrong with the storage.
    }
  }

  /** Polls when time alone opens the next lane. */
  function schedulePoll(): void {
    cancelPoll();
    const now = clock.monotonic();
    const at = Math.min(health.opensAt(now), health.askAt);
    if (stopped || !Number.isFinite(at)) return;
    cancelPoll = clock.after(Math.max(0, Math.ceil(at - now)), poll);
  }

  function poll(): void {
    const now = clock.monotonic();
    if (health.askAt <= now) void ask();
    // Another process may have found that the endpoint has recovered.
    for (const endpoint of ENDPOINTS)
      if (health.endpoints[endpoint].silentSince !== undefined) void look(endpoint);
    harmless(onCapacity);
    schedulePoll();
  }

  /** Asks the status endpoint whether the service answers: that risks no event. */
  async function ask(): Promise<void> {
    health.ask();
    const attempt = await transport.send(calls.status(PROBE_SESSION), { bodyMs: BODY_MS });
    if (stopped) return;
    const outcome = outcomeOf(attempt, { maybeTaken: false, now: clock.now() });
    const restMs = outcome.type === "throttled" ? outcome.retryAfterMs : 0;
    health.asked(answerOf(attempt, outcome), clock.monotonic(), restMs);
    report(() => detailsOf(attempt, undefined, { hide, now: clock.now() }));
    harmless(onCapacity);
    schedulePoll();
  }

  /** Reports, once each, that a pause begins, changes its reason or ends. */
  function report(details: () => Details): void {
    const now = clock.monotonic();
    compare("origin", health.originPause, now, details);
    for (const endpoint of ENDPOINTS)
      compare(endpoint, health.endpoints[endpoint].reportedPauseAt(now), now, details);
  }

  function compare(scope: PauseScope, pause: Pause | undefined, now: number, details: () => Details): void {
    const before = announced.get(scope);
    if (!pause) {
      if (before && announced.delete(scope)) journal.resumed(scope, now - before.since);
    } else if (pause.reason !== before?.reason) {
      const since = before?.since ?? pause.since;
      announced.set(scope, { ...pause, since });
      const { status, message } = details();
      const because = status === undefined ? message : `answered ${status}: ${message}`;
      const [pausedMs, forMs] = [Math.max(0, now - since), Math.max(0, pause.until - now)];
      journal.paused(scope, { reason: pause.reason, because, pausedMs, forMs });
    }
  }

  return {
    report,
    look,
    schedulePoll,
    get endpoints(): Record<Endpoint, EndpointState> {
      const now = clock.monotonic();
      return byEndpoint((endpoint) => {
        const pause = health.originPause ?? health.endpoints[endpoint].pauseAt(now);
        if (!pause) return { state: "open" };
        return { state: "paused", reason: pause.reason, pausedMs: Math.max(0, now - pause.since) };
      });
    },
    stop() {
      stopped = true;
      cancelPoll();
    },
  };
}

function answerOf(attempt: Attempt, { type }: Outcome): StatusAnswer {
  if (isOfGateway(attempt)) return "gateway";
  if (attempt.type === "answer") return attempt.status < 500 && type !== "throttled" ? "well" : "sick";
  return type === "unreachable" ? type : "silent";
}
