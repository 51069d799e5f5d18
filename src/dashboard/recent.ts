import type { EventKind } from "../conversion/events.js";
import { byKind, KINDS } from "../conversion/kinds.js";
import type { EventNotice, Notices, PauseScope } from "../journal/notices.js";
import type { Clock } from "../shared/clock.js";
import type { Affiliate } from "../tracker.js";

/** What can become of an event, by its notice. `held`: dead as `unconfirmed`. */
const NOTICES = ["queued", "delivered", "retry", "skipped", "dropped"] as const;
const OUTCOMES = [...NOTICES, "held", "dead"] as const;
type RecentOutcome = (typeof OUTCOMES)[number];

const MINUTE_MS = 60_000;
const MINUTES = 60;
const MOST_FAILURES = 30;

/** How often waiting events are counted (30 µs, measured with 900): an outage of 30 s shows. */
const LOOK_MS = 10_000;

/** Failures of one kind for one reason. `email`: of the last event. */
interface Failure {
  readonly outcome: "retry" | "held" | "dead" | "dropped";
  readonly kind: EventKind;
  readonly because: string;
  readonly count: number;
  /** In milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly email?: string;
}

/** Keeps the last hour, the last failures, and why endpoints are paused, in bounded memory. */
export function recordRecent(tracker: Pick<Affiliate, "on" | "stats">, clock: Clock) {
  const hours = byOutcome(() => byKind(() => new Minutes()));
  const waiting = new Minutes();
  const failures = new Map<string, Failure>();
  const causes = new Map<PauseScope, string>();

  function fail(outcome: Failure["outcome"], { kind, email }: Partial<EventNotice>, because: string): void {
    const at = clock.now();
    if (!kind) return;
    const key = JSON.stringify([outcome, kind, because]);
    const { count = 0, firstAt = at } = failures.get(key) ?? {};
    failures.delete(key);
    const ofWhom = email !== undefined && { email };
    failures.set(key, { outcome, kind, because, count: count + 1, firstAt, lastAt: at, ...ofWhom });
    if (failures.size > MOST_FAILURES) failures.delete(failures.keys().next().value as string);
  }

  function look(): void {
    const { queued, state } = tracker.stats();
    waiting.raise(clock.now(), queued);
    if (state !== "closed") clock.after(LOOK_MS, look);
  }

  look();
  for (const outcome of NOTICES) tracker.on(outcome, ({ kind }) => hours[outcome][kind].add(clock.now()));
  tracker.on("retry", (notice) => fail("retry", notice, notice.because));
  tracker.on("dead", (notice) => {
    const outcome = notice.reason === "unconfirmed" ? "held" : "dead";
    hours[outcome][notice.kind].add(clock.now());
    fail(outcome, notice, whyDead(notice));
  });
  tracker.on("dropped", (notice) => fail("dropped", notice, wordsOf(notice.reason, notice.message)));
  tracker.on("paused", ({ scope, because }) => void causes.set(scope, because));
  tracker.on("resumed", ({ scope }) => void causes.delete(scope));

  return {
    since: clock.now(),
    lastHour: () => byOutcome((outcome) => sumOf(hours[outcome], clock.now())),
    /** The most events that waited in each minute, with those that wait now. */
    waitingWith(queued: number): readonly number[] {
      waiting.raise(clock.now(), queued);
      return waiting.read(clock.now());
    },
    /** The last ones first. */
    failures: (): readonly Failure[] => [...failures.values()].reverse(),
    /** Why an endpoint or the whole service was paused; `undefined` if not seen here. */
    causeOf: (endpoint: PauseScope): string | undefined => causes.get("origin") ?? causes.get(endpoint),
  };
}

function whyDead({ reason, status, code, message }: Notices["dead"]): string {
  return wordsOf(reason, [[status, code].filter(Boolean).join(" "), message].filter(Boolean).join(": "));
}

function wordsOf(reason: string, message: string | undefined): string {
  return message ? `${reason}: ${message}` : reason;
}

function byOutcome<T>(make: (outcome: RecentOutcome) => T): Readonly<Record<RecentOutcome, T>> {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, make(outcome)])) as Record<RecentOutcome, T>;
}

/** How often it happened in the last hour: by kind, and by minute, the current one last. */
function sumOf(kinds: Readonly<Record<EventKind, Minutes>>, now: number) {
  const read = byKind((kind) => kinds[kind].read(now));
  const minutes = Array.from({ length: MINUTES }, (_, nth) => sum(KINDS.map((kind) => read[kind][nth] ?? 0)));
  return { ...byKind((kind) => sum(read[kind])), minutes };
}

/** Sixty minutes' numbers. The current minute replaces the one an hour before. */
class Minutes {
  readonly #numbers = new Float64Array(MINUTES);
  #minute = 0;

  add(now: number): void {
    const place = this.#placeOf(now);
    this.#numbers[place] = (this.#numbers[place] ?? 0) + 1;
  }

  /** The current minute has at least this number. */
  raise(now: number, number: number): void {
    const place = this.#placeOf(now);
    this.#numbers[place] = Math.max(this.#numbers[place] ?? 0, number);
  }

  /** The current minute last. */
  read(now: number): number[] {
    const last = this.#placeOf(now);
    return [...this.#numbers.subarray(last + 1), ...this.#numbers.subarray(0, last + 1)];
  }

  #placeOf(now: number): number {
    const minute = Math.floor(now / MINUTE_MS);
    // A clock that was set back: the minutes until then count as the current one.
    const passed = Math.min(Math.max(minute - this.#minute, 0), MINUTES);
    for (let nth = 0; nth < passed; nth++) this.#numbers[(minute - nth) % MINUTES] = 0;
    this.#minute = Math.max(minute, this.#minute);
    return this.#minute % MINUTES;
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
