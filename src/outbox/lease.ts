/** A moment by two clocks: one may be set, the other may stand still while the machine sleeps. */
export interface Instant {
  /** Milliseconds since the epoch. */
  readonly wall: number;
  /** Milliseconds of a clock that all threads of the machine share, and that is never set. */
  readonly monotonic: number;
}

/** This moment. */
export function present(): Instant {
  return { wall: Date.now(), monotonic: Number(process.hrtime.bigint()) / 1e6 };
}

/** Whether less than `ms` milliseconds have passed since then, as far as either clock can tell. */
export function isWithin(ms: number, since: Instant): boolean {
  const { wall, monotonic } = present();
  return wall - since.wall < ms && monotonic - since.monotonic < ms;
}
