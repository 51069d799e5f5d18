import type { OutboxEvent } from "../conversion/events.js";
import type { Journal } from "../journal/journal.js";
import type { EndpointState, PauseScope } from "../journal/notices.js";
import type { Claim, Deliver, Verdict } from "../outbox/claim.js";
import type { Outbox } from "../outbox/outbox.js";
import type { Attempt } from "../service/attempt.js";
import { byEndpoint, ENDPOINTS, type Endpoint, kindOf } from "../service/endpoints.js";
import type { Clock } from "../shared/clock.js";
import { harmless } from "../shared/harmless.js";
import { detached } from "../shared/own-context.js";
import { type AttemptOptions, BODY_MS, createAttempts } from "./attempts.js";
import { type Details, detailsOf } from "./details.js";
import { Health, type StatusAnswer } from "./health.js";
import { interruption } from "./meaning.js";
import type { Pause } from "./outage.js";
import { isOfGateway, type Outcome, outcomeOf } from "./outcome.js";
import { PROCESSES_APART_MS } from "./when-again.js";

export interface DeliveryOptions extends AttemptOptions {
  readonly concurrency: number;
  readonly unanswered?: Outbox["unanswered"];
  /** More events may be claimed. */
  readonly onCapacity: () => void;
}

export interface Delivery extends Deliver {
  readonly inFlight: number;
  readonly endpoints: Readonly<Record<Endpoint, EndpointState>>;
  /** Begins no more attempts. Events that were not sent stay for the next process. */
  stop(): void;
}

const NONE = { limit: 0, lanes: [] };

// It reads only, and is about no visitor: any answer shows that the service works.
const PROBE_SESSION = "express-affiliate-probe";

/** Delivers events to the service as far as the health of its endpoints allows. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { transport, calls, concurrency, ambiguous, journal, hide, onCapacity, clock } = options;
  const { unanswered, random = Math.random } = options;
  const isCostly = (endpoint: Endpoint) => ambiguous[kindOf(endpoint)] === "hold";
  const health = new Health(concurrency, isCostly, unanswered && random() * PROCESSES_APART_MS);
  const announcer = createAnnouncer(health, journal, clock);
  const attempt = createAttempts({
    ...{ ...options, health, look, announce: announcer.report },
    hasStopped: () => stopped,
  });
  let inFlight = 0;
  let stopped = false;
  let cancelPoll = () => {};

  async function deliver(claim: Claim): Promise<Verdict> {
    if (claim.interrupted && ambiguous[claim.event.kind] === "hold") return interruption(claim);
    inFlight++;
    try {
      return await attempt(claim);
    } finally {
      inFlight--;
      schedulePoll();
    }
  }

  /** Looks at what other processes show. If the storage fails, this one's own attempts decide. */
  async function look(endpoint: Endpoint): Promise<void> {
    try {
      const now = clock.monotonic();
      const read = await unanswered?.(endpoint);
      if (!read || !health.learn(endpoint, read, now)) return;
      announcer.report(() => ({ code: "", message: "another process on this storage had no answer" }));
      onCapacity();
      schedulePoll();
    } catch {
      // Storing and claiming report what is wrong with the storage.
    }
  }

  function settled(event: OutboxEvent, attempts: number, verdict: Verdict): void {
    if (verdict.type === "delivered") {
      journal.delivered(event, attempts + 1, event.kind === "click" ? undefined : verdict.leadId);
    } else if (verdict.type === "skipped") {
      journal.skipped(event.kind, verdict.reason, event);
    } else if (verdict.type === "retry" && verdict.history.attempts > attempts) {
      journal.retry(event, verdict.history.attempts, verdict.inMs, verdict.because ?? "");
    } else if (verdict.type === "dead") {
      const { type: _, ...death } = verdict;
      journal.dead(event, death);
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
    for (const endpoint of health.silent) void look(endpoint);
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
    announcer.report(() => detailsOf(attempt, undefined, { hide, now: clock.now() }));
    harmless(onCapacity);
    schedulePoll();
  }

  return {
    capacity: () => (stopped ? NONE : health.capacity(clock.monotonic())),
    // An outbox may call both in some visitor's async context.
    deliver: detached(deliver),
    // Reported once the verdict is stored: nothing depends on it any more.
    settled: detached(settled),
    get inFlight() {
      return inFlight;
    },
    get endpoints() {
      return announcer.states();
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

/** Reports to the journal, once each, that a pause begins, changes its reason or ends. */
function createAnnouncer(health: Health, journal: Journal, clock: Clock) {
  const announced = new Map<PauseScope, Pause>();

  function compare(scope: PauseScope, pause: Pause | undefined, now: number, details: () => Details): void {
    const before = announced.get(scope);
    if (!pause) {
      if (before && announced.delete(scope)) journal.resumed(scope, now - before.since);
    } else if (pause.reason !== before?.reason) {
      const since = before?.since ?? pause.since;
      announced.set(scope, { ...pause, since });
      const { status, message } = details();
      const because = status === undefined ? message : `answered ${status}: ${message}`;
      journal.paused(scope, {
        ...{ reason: pause.reason, because },
        ...{ pausedMs: Math.max(0, now - since), forMs: Math.max(0, pause.until - now) },
      });
    }
  }

  return {
    report(details: () => Details): void {
      const now = clock.monotonic();
      compare("origin", health.originPause, now, details);
      for (const endpoint of ENDPOINTS) compare(endpoint, health.pauseAt(endpoint, now), now, details);
    },
    states(): Record<Endpoint, EndpointState> {
      const now = clock.monotonic();
      return byEndpoint((endpoint) => {
        const pause = health.originPause ?? health.pauseAt(endpoint, now);
        if (!pause) return { state: "open" };
        return { state: "paused", reason: pause.reason, pausedMs: Math.max(0, now - pause.since) };
      });
    },
  };
}
