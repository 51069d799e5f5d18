import type { EventKind } from "../conversion/events.js";
import type { EventNotice, Notices } from "../journal/notices.js";
import type { Clock } from "../shared/clock.js";
import type { Affiliate } from "../tracker.js";

/** What can become of an event. `held`: dead as `unconfirmed`. */
type Outcome = "delivered" | "retry" | "held" | "dead";

const MINUTE_MS = 60_000;
const MINUTES = 60;
const MOST_FAILURES = 30;

/** Failures of one kind for one reason. */
interface Failure {
  readonly outcome: Exclude<Outcome, "delivered"> | "dropped";
  readonly kind: EventKind;
  readonly because: string;
  readonly count: number;
  /** In milliseconds since the epoch. */
  readonly lastAt: number;
}

/** Keeps the last hour and the last failures, in bounded memory. */
export function recordRecent(tracker: Pick<Affiliate, "on">, clock: Clock) {
  /** Those in which something happened, the current one last, by the minutes of a clock that is never set. */
  const minutes = new Map<number, Record<Outcome, number>>();
  const failures = new Map<string, Failure>();
  const thisMinute = () => Math.floor(clock.monotonic() / MINUTE_MS);

  function count(outcome: Outcome): void {
    const minute = minutes.get(thisMinute()) ?? { delivered: 0, retry: 0, held: 0, dead: 0 };
    minutes.set(thisMinute(), { ...minute, [outcome]: minute[outcome] + 1 });
    if (minutes.size > MINUTES) minutes.delete([...minutes.keys()][0] as number);
  }
  function fail(outcome: Failure["outcome"], { kind }: Partial<EventNotice>, because: string): void {
    if (!kind) return;
    const key = JSON.stringify([outcome, kind, because]);
    const count = (failures.get(key)?.count ?? 0) + 1;
    failures.delete(key);
    failures.set(key, { outcome, kind, because, count, lastAt: clock.now() });
    if (failures.size > MOST_FAILURES) failures.delete([...failures.keys()][0] as string);
  }

  tracker.on("delivered", () => count("delivered"));
  tracker.on("retry", (notice) => {
    count("retry");
    fail("retry", notice, notice.because);
  });
  tracker.on("dead", (notice) => {
    const outcome = notice.reason === "unconfirmed" ? "held" : "dead";
    count(outcome);
    fail(outcome, notice, whyDead(notice));
  });
  tracker.on("dropped", (notice) => fail("dropped", notice, wordsOf(notice.reason, notice.message)));

  return {
    /** Of each outcome: how many in each minute, the current one last. */
    lastHour(): Readonly<Record<Outcome, readonly number[]>> {
      const first = thisMinute() - MINUTES + 1;
      const of = (outcome: Outcome) =>
        Array.from({ length: MINUTES }, (_, nth) => minutes.get(first + nth)?.[outcome] ?? 0);
      return { delivered: of("delivered"), retry: of("retry"), held: of("held"), dead: of("dead") };
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
