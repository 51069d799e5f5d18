/** By two clocks: one may be set, the other may stand still while the machine sleeps. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly wall: number;
  /** Milliseconds of a clock that is never set. */
  readonly monotonic: number;
}

/** In milliseconds. The second is never set. */
export interface TwoClocks {
  now(): number;
  monotonic(): number;
}

/** The same in all threads; `performance.now()` counts from the start of its own thread. */
export const clockOfAllThreads: TwoClocks = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
};

/** By default, all threads of the machine agree on it. */
export function momentBy(clock: TwoClocks = clockOfAllThreads): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/** Whether less than `ms` milliseconds have passed by both clocks. */
export function isWithin(ms: number, since: Moment, clock?: TwoClocks): boolean {
  const { wall, monotonic } = momentBy(clock);
  return wall - since.wall < ms && monotonic - since.monotonic < ms;
}

// Chosen: a share of the lease. The rest allows for clocks that do not run alike.
const SAFE_SHARE = 0.9;

/** Whether a process may trust a lease that it took or renewed then. */
export function isHeldSince(since: Moment, leaseMs: number, clock?: TwoClocks): boolean {
  return isWithin(SAFE_SHARE * leaseMs, since, clock);
}
