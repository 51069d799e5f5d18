import type { Clock } from "../../shared/clock.js";

// For clocks that do not run alike, or are corrected by a little.
const SLACK_MS = 1_000;

export type ServerClock = ReturnType<typeof createServerClock>;

/**
 * Knows how late it can be by the database's clock, so that one that is set ahead ends no lease of a
 * process that lives. A clock that was set is believed once it has stayed so for `patienceMs`: by
 * then each process has renewed its leases by it.
 */
export function createServerClock(clock: Pick<Clock, "monotonic">, patienceMs: number) {
  let believed: { readonly now: number; readonly askedAt: number } | undefined;
  let aheadSince: number | undefined;

  const latest = () => believed && believed.now + clock.monotonic() - believed.askedAt + SLACK_MS;

  return {
    /** The latest that the clock can show, unless it was set lately; `undefined` before it was asked. */
    get latest() {
      return latest();
    },
    /** SQL: when leases end. */
    leaseEnd: (now: string): string => {
      const time = latest();
      return time === undefined
        ? now
        : `(case when ${now} < ${Math.round(time)} then ${now} else ${Math.round(time)} end)`;
    },
    /** Takes a time that the database has told, asked for at `askedAt` by the monotonic clock. */
    tell(now: number, askedAt: number): void {
      const time = latest();
      aheadSince = time !== undefined && now > time ? (aheadSince ?? askedAt) : undefined;
      if (aheadSince !== undefined && clock.monotonic() - aheadSince < patienceMs) return;
      believed = { now, askedAt };
      aheadSince = undefined;
    },
  };
}
