import { performance as ownPerformance } from "node:perf_hooks";
import * as timers from "node:timers";
import { promisify } from "node:util";
import { detached } from "./own-context.js";

// Taken when the package is loaded: fake timers of a host's tests (Vitest's, Jest's, node:test's) replace the globals later, and
// would stop a tracker.

const own = { ...timers };

/** Node's own timers, even where a test has replaced the globals. Their tasks run in no request's async context. */
export const { clearTimeout, clearInterval } = own;
export const setTimeout = detached(own.setTimeout);
export const setInterval = detached(own.setInterval);
export const setImmediate = detached(own.setImmediate);

/** Like `setImmediate`, but its task runs in the async context of the caller. */
export const { setImmediate: setImmediateInContext, clearImmediate } = own;

/** Runs a task once the code that runs has returned, before the event loop goes on; in no request's async context. */
export const nextTick = detached(process.nextTick.bind(process));

/** Resolves after the given milliseconds. */
export const sleep = promisify(own.setTimeout);

const { timeOrigin } = ownPerformance;

/** Milliseconds since a fixed moment, of a clock that is never set. */
export const monotonic = ownPerformance.now.bind(ownPerformance);

// Where a test environment fakes the date before it loads any module, the time is computed from the start of the process.
const dateIsFaked = "isFake" in Date;
const { now: dateNow } = Date;

/** Milliseconds since the epoch. */
export const now = dateIsFaked ? () => timeOrigin + monotonic() : dateNow;

/** Whether a test has replaced Node's timers. Never true in production: there, tracing may wrap them. */
export function timersAreFaked(): boolean {
  return globalThis.setImmediate !== own.setImmediate && process.env.NODE_ENV !== "production";
}
