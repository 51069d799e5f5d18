/**
 * How long the file has been in use, in milliseconds. It follows the wall clock, and never runs faster than time passes: a wall
 * clock that is set ahead and back forgets no delivered id. Time without a process does not count.
 *
 * @param monotonic milliseconds of a clock that is never set.
 */
export function createSteadyClock(monotonic: () => number) {
  let inUse = 0;
  let wall = 0;
  let followedAt = monotonic();

  return {
    /** Moves on to this moment, by the wall clock. */
    follow(now: number): void {
      const passed = monotonic() - followedAt;
      followedAt += passed;
      inUse += Math.min(Math.max(0, now - wall), Math.ceil(passed));
      wall = now;
    },
    /** Goes on from what the file says, and from the wall clock's time when a process wrote it. */
    restore(stored: number, writtenAt: number): void {
      inUse = stored;
      wall = writtenAt;
    },
    get now() {
      return inUse;
    },
  };
}
