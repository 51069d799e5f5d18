import { performance as ownPerformance } from "node:perf_hooks";
import * as timers from "node:timers";
import { promisify } from "node:util";

// Taken when the package is loaded: fake timers of a host's tests (Vitest's, Jest's, node:test's) replace the globals later, and
// would stop a tracker in the midst of its work.

/** Node's own timers, whatever a test has put in their place. */
export const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = { ...timers };

/** Resolves after so many milliseconds. */
export const sleep = promisify(setTimeout);

const { timeOrigin } = ownPerformance;

/** Milliseconds since some moment, of a clock that is never set. */
export const monotonic = ownPerformance.now.bind(ownPerformance);

// Where the tests' environment has faked the date before any module was loaded, it is counted on from the start of the process.
const dateIsFaked = "isFake" in Date;
const { now: dateNow } = Date;

/** Milliseconds since the epoch. */
export const now = dateIsFaked ? () => timeOrigin + monotonic() : dateNow;

/** Whether somebody has put something else in place of Node's timers: not in production, where tracing may wrap them. */
export function timersAreFaked(): boolean {
  return globalThis.setImmediate !== setImmediate && process.env.NODE_ENV !== "production";
}
