import type { EventKind } from "../events.js";
import type { EventNotice, Notices, PauseScope } from "../journal/notices.js";
import { byKind, KINDS } from "../kinds.js";
import type { Clock } from "../shared/clock.js";
import type { Affiliate } from "../tracker.js";

/** What can become of an event, by the notice that tells of it. */
export const OUTCOMES = ["queued", "delivered", "retry", "dead", "skipped", "dropped"] as const;
export type RecentOutcome = (typeof OUTCOMES)[number];

const MINUTE_MS = 60_000;
const MINUTES = 60;
const MOST_FAILURES = 30;

/** How often something happened in the last hour: by kind, and minute by minute, the current one last. */
export interface LastHour extends Readonly<Record<EventKind, number>> {
  readonly minutes: readonly number[];
}

/** Failures of the same kind that gave the same reason, and the last event that met it. */
export interface Failure {
  readonly outcome: "retry" | "dead" | "dropped";
  readonly kind: EventKind;
  readonly because: string;
  readonly count: number;
  /** In milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly email?: string;
}

/** Keeps what the tracker's notices tell from now on: the last hour's numbers, the last failures, why endpoints are paused. Bounded. */
export function recordRecent(tracker: Pick<Affiliate, "on">, clock: Clock) {
  const hours = new Map(OUTCOMES.map((outcome) => [outcome, new Hour()]));
  const failures = new Map<string, Failure>();
  const causes = new Map<PauseScope, string>();

  function fail(outcome: Failure["outcome"], { kind, email }: Partial<EventNotice>, because: string): void {
    const at = clock.now();
    if (!kind) return;
    const key = JSON.stringify([outcome, kind, because]);
    const { count = 0, firstAt = at } = failures.get(key) ?? {};
    failures.delete(key);
    const latest = { outcome, kind, because, count: count + 1, firstAt, lastAt: at };
    failures.set(key, { ...latest, ...(email !== undefined && { email }) });
    if (failures.size > MOST_FAILURES) failures.delete(failures.keys().next().value as string);
  }

  for (const [outcome, hour] of hours) tracker.on(outcome, ({ kind }) => hour.count(kind, clock.now()));
  tracker.on("retry", (notice) => fail("retry", notice, notice.because));
  tracker.on("dead", (notice) => fail("dead", notice, whyDead(notice)));
  tracker.on("dropped", (notice) => fail("dropped", notice, wordsOf(notice.reason, notice.message)));
  tracker.on("paused", ({ scope, because }) => void causes.set(scope, because));
  tracker.on("resumed", ({ scope }) => void causes.delete(scope));

  return {
    since: clock.now(),
    lastHour(): Record<RecentOutcome, LastHour> {
      const now = clock.now();
      const read = [...hours].map(([outcome, hour]) => [outcome, hour.read(now)] as const);
      return Object.fromEntries(read) as Record<RecentOutcome, LastHour>;
    },
    /** The last ones first. */
    failures: (): readonly Failure[] => [...failures.values()].reverse(),
    /** What was wrong when this endpoint, or the whole service, was paused; `undefined` where that was not heard. */
    causeOf: (endpoint: PauseScope): string | undefined => causes.get("origin") ?? causes.get(endpoint),
  };
}

function whyDead({ reason, status, code, message }: Notices["dead"]): string {
  return wordsOf(reason, [[status, code].filter(Boolean).join(" "), message].filter(Boolean).join(": "));
}

function wordsOf(reason: string, message: string | undefined): string {
  return message ? `${reason}: ${message}` : reason;
}

/** Counts of sixty minutes, each in the place of the one an hour before it. */
class Hour {
  readonly #counts = byKind(places);
  #minute = 0;

  count(kind: EventKind, now: number): void {
    this.#turnTo(now);
    const counts = this.#counts[kind];
    counts[this.#minute % MINUTES] = (counts[this.#minute % MINUTES] ?? 0) + 1;
  }

  read(now: number): LastHour {
    this.#turnTo(now);
    const minutes = Array.from({ length: MINUTES }, (_, nth) => {
      const place = (this.#minute + 1 + nth) % MINUTES;
      return KINDS.reduce((all, kind) => all + (this.#counts[kind][place] ?? 0), 0);
    });
    return { ...byKind((kind) => sum(this.#counts[kind])), minutes };
  }

  #turnTo(now: number): void {
    const minute = Math.floor(now / MINUTE_MS);
    // A clock that was set back: the minutes until then count as the current one.
    if (minute <= this.#minute) return;
    const passed = Math.min(minute - this.#minute, MINUTES);
    for (let nth = 0; nth < passed; nth++) {
      for (const counts of Object.values(this.#counts)) counts[(minute - nth) % MINUTES] = 0;
    }
    this.#minute = minute;
  }
}

const places = () => new Float64Array(MINUTES);
const sum = (counts: Float64Array) => counts.reduce((total, count) => total + count, 0);
