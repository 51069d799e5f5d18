import { type Calls, callFor, refusalOf } from "../client.js";
import type { Clock } from "../clock.js";
import { errorCodeOf } from "../errors.js";
import { type EventKind, type OutboxEvent, visitorOf } from "../events.js";
import type { Journal } from "../journal.js";
import type { Death, Deliver, LiveEvent, Verdict } from "../outbox/outbox.js";
import type { Attempt, Transport } from "../transport.js";
import { backoffMs } from "./backoff.js";
import { createBreaker, type Pause, type PauseReason } from "./breaker.js";
import { type Outcome, outcomeOf } from "./outcome.js";

/** What to do with an event that the service may have taken: send it again, or hold it as a dead letter. */
export type AmbiguousPolicy = "retry" | "hold";

export interface DeliveryOptions {
  readonly transport: Pick<Transport, "send">;
  readonly calls: Calls;
  readonly concurrency: number;
  readonly maxAgeMs: number;
  readonly ambiguous: Readonly<Record<EventKind, AmbiguousPolicy>>;
  readonly journal: Journal;
  /** Takes out of the service's words what must not be shown. */
  readonly hide: (text: string) => string;
  /** There is room again. */
  readonly onRoom: () => void;
  readonly clock: Clock;
  readonly random?: () => number;
}

export interface Delivery {
  readonly deliver: Deliver;
  readonly inFlight: number;
  readonly paused: boolean;
  /** From here on nothing is probed or resumed, and what does not get out is kept for the next process. */
  stop(): void;
}

/** The death of an event whose process was killed in the middle of an attempt. */
function interruption(attempts: number): Death {
  return {
    reason: "unconfirmed",
    attempts,
    code: "ERR_INTERRUPTED",
    message: "the process ended while an attempt was under way",
  };
}

// Read-only, and about nobody: the service only has to answer.
const PROBE_SESSION = "express-affiliate-probe";

/** One destination: takes events to the service one attempt at a time, and leaves it alone when it needs to be. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { transport, calls, concurrency, maxAgeMs, ambiguous, journal, hide, onRoom, clock } = options;
  const { random = Math.random } = options;
  const breaker = createBreaker(concurrency);
  let inFlight = 0;
  let stopped = false;
  let announced: PauseReason | undefined;
  let cancelPause = () => {};

  async function deliver(live: LiveEvent): Promise<Verdict> {
    const { event, attempts, interrupted } = live;
    if (interrupted && ambiguous[event.kind] === "hold") return { is: "dead", ...interruption(attempts + 1) };
    const maybeTaken = live.maybeTaken || interrupted;
    if (clock.now() - live.queuedAt > maxAgeMs) {
      return { is: "dead", reason: "expired", attempts, message: `not delivered within ${maxAgeMs} ms` };
    }
    const { stretch } = breaker;
    inFlight++;
    const attempt = await transport.send(callFor(event, calls));
    inFlight--;
    const outcome = outcomeOf(attempt, { maybeTaken, now: clock.now() });
    const pause = breaker.record(outcome, visitorOf(event), stretch);
    if (pause) rest(pause, attempt);
    else if (announced && !breaker.paused) goOn();
    return verdictOn(live, maybeTaken, outcome, attempt);
  }

  function verdictOn(live: LiveEvent, maybeTaken: boolean, outcome: Outcome, attempt: Attempt): Verdict {
    const { event } = live;
    const attempts = live.attempts + 1;
    switch (outcome.is) {
      case "delivered":
        return { is: "delivered" };
      case "rejected":
        return { is: "dead", reason: "rejected", attempts, ...detailsOf(attempt) };
      case "failed":
        return stopped ? { is: "kept", maybeTaken } : retry(live, attempt, maybeTaken);
      case "ambiguous":
        if (ambiguous[event.kind] === "retry") return retry(live, attempt, true);
        return { is: "dead", reason: "unconfirmed", attempts, ...detailsOf(attempt) };
      default:
        return { is: "kept", maybeTaken };
    }
  }

  function retry({ attempts }: LiveEvent, attempt: Attempt, maybeTaken: boolean): Verdict {
    const inMs = backoffMs(attempts + 1, random());
    return { is: "retry", inMs, maybeTaken, because: detailsOf(attempt).message };
  }

  function settled(event: OutboxEvent, attempts: number, verdict: Verdict): void {
    if (verdict.is === "delivered") {
      journal.delivered(event, attempts + 1);
    } else if (verdict.is === "retry") {
      journal.retry(event, attempts + 1, verdict.inMs, verdict.because ?? "");
    } else if (verdict.is === "dead") {
      const { is: _, ...death } = verdict;
      journal.dead(event, death);
    }
  }

  function detailsOf(attempt: Attempt) {
    if (attempt.answered) {
      const { status, error, message } = refusalOf(attempt, { now: clock.now(), hide });
      return { status, code: error, message };
    }
    const code = errorCodeOf(attempt.error);
    return { code, message: hide(attempt.error.message || code) };
  }

  function rest({ reason, forMs }: Pause, attempt: Attempt): void {
    if (stopped) return;
    // Told once, however often it turns out to be still so.
    if (announced !== reason) journal.paused(reason, forMs, detailsOf(attempt).message);
    announced = reason;
    cancelPause = clock.after(forMs, reason === "throttled" ? tryAgain : probe);
  }

  function goOn(): void {
    announced = undefined;
    journal.resumed();
  }

  function tryAgain(): void {
    breaker.tryAgain();
    onRoom();
  }

  async function probe(): Promise<void> {
    const attempt = await transport.send(calls.status(PROBE_SESSION));
    if (stopped) return;
    const pause = breaker.probed(attempt, outcomeOf(attempt, { maybeTaken: false, now: clock.now() }));
    if (pause) rest(pause, attempt);
    else onRoom();
  }

  Object.defineProperties(deliver, {
    room: { get: () => (stopped ? 0 : Math.max(0, breaker.limit - inFlight)) },
    settled: { value: settled },
  });

  return {
    deliver: deliver as Deliver,
    get inFlight() {
      return inFlight;
    },
    get paused() {
      return breaker.paused !== undefined;
    },
    stop() {
      stopped = true;
      cancelPause();
    },
  };
}
