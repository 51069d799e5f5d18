import { performance as ownPerformance } from "node:perf_hooks";
import * as timers from "node:timers";
import { promisify } from "node:util";
import { detached } from "./own-context.js";

// Taken when the package is loaded: a host's tests may replace the globals later, and that would
// stop a tracker.

const real = { ...timers };

/** Node's own timers, whatever a test replaces. Tasks run in no request's async context. */
export const { clearTimeout, clearInterval } = real;
export const setTimeout = detached(real.setTimeout);
export const setInterval = detached(real.setInterval);
export const setImmediate = detached(real.setImmediate);

/** `setImmediate` in the caller's async context. */
export const { setImmediate: setImmediateInContext, clearImmediate } = real;

/** In milliseconds. */
export const sleep = promisify(real.setTimeout);

const { timeOrigin } = ownPerformance;

/** Milliseconds since a fixed moment, of a clock that is never set. */
export const monotonic = ownPerformance.now.bind(ownPerformance);

// If the date is faked before any module is loaded, time is computed from the process's start.
const dateIsFaked = "isFake" in Date;
const { now: dateNow } = Date;

/** Milliseconds since the epoch. */
export const now = dateIsFaked ? () => timeOrigin + monotonic() : dateNow;

/** Whether a test has replaced Node's timers. Not in production, where tracing may wrap them. */
export function timersAreFaked(): boolean {
  return globalThis.setImmediate !== real.setImmediate && process.env.NODE_ENV !== "production";
}
