import type { EventKind } from "../conversion/events.js";
import { byKind } from "../conversion/kinds.js";
import type { EventNotice, Notices } from "../journal/notices.js";
import type { Clock } from "../shared/clock.js";
import type { Affiliate } from "../tracker.js";

/** What can become of an event, by its notice. `held`: dead as `unconfirmed`. */
const NOTICES = ["queued", "delivered", "retry", "skipped", "dropped"] as const;
const OUTCOMES = [...NOTICES, "held", "dead"] as const;
type RecentOutcome = (typeof OUTCOMES)[number];

const MINUTE_MS = 60_000;
const MINUTES = 60;
const MOST_FAILURES = 30;

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

/** How often each thing happened in one minute. `nth`: of a clock that is never set. */
interface Minute {
  readonly nth: number;
  readonly counts: Readonly<Record<RecentOutcome, Record<EventKind, number>>>;
}

/** Keeps the last hour and the last failures, in bounded memory. */
export function recordRecent(tracker: Pick<Affiliate, "on">, clock: Clock) {
  /** Those in which something happened, the current one last. */
  const minutes: Minute[] = [];
  const failures = new Map<string, Failure>();
  const nthNow = () => Math.floor(clock.monotonic() / MINUTE_MS);

  function count(outcome: RecentOutcome, kind: EventKind): void {
    const nth = nthNow();
    if (minutes.at(-1)?.nth !== nth) minutes.push({ nth, counts: byOutcome(() => byKind(() => 0)) });
    if (minutes.length > MINUTES) minutes.shift();
    (minutes.at(-1) as Minute).counts[outcome][kind] += 1;
  }

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

  for (const outcome of NOTICES) tracker.on(outcome, ({ kind }) => count(outcome, kind));
  tracker.on("retry", (notice) => fail("retry", notice, notice.because));
  tracker.on("dead", (notice) => {
    const outcome = notice.reason === "unconfirmed" ? "held" : "dead";
    count(outcome, notice.kind);
    fail(outcome, notice, whyDead(notice));
  });
  tracker.on("dropped", (notice) => fail("dropped", notice, wordsOf(notice.reason, notice.message)));

  return {
    since: clock.now(),
    /** Of each outcome: by kind, and by minute, the current one last. */
    lastHour() {
      const first = nthNow() - MINUTES + 1;
      const hour = Array.from({ length: MINUTES }, (_, place) =>
        minutes.find(({ nth }) => nth === first + place),
      );
      return byOutcome((outcome) => ({
        ...byKind((kind) => sum(hour.map((minute) => minute?.counts[outcome][kind] ?? 0))),
        minutes: hour.map((minute) => sum(Object.values(minute?.counts[outcome] ?? {}))),
      }));
    },
    /** The last ones first. */
    failures: (): readonly Failure[] => [...failures.values()].reverse(),
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

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
