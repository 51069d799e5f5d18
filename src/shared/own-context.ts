import { AsyncResource } from "node:async_hooks";

/** Not of `AsyncLocalStorage.snapshot()`: `jest --detectOpenHandles` takes that for something that is left open. */
class OwnContext extends AsyncResource {
  hasRef(): boolean {
    return false;
  }
}

const ownContext = new OwnContext("express-affiliate");

/**
 * Calls a function in the async context in which the package was loaded, which is no request's. Events of many visitors share
 * timers, sockets and transactions, so none of these may run under one visitor's trace.
 */
export function inOwnContext<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
  ...args: Args
): Result {
  return ownContext.runInAsyncScope(call, undefined, ...args);
}

/** The same function, called in no request's async context. */
export function detached<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) => inOwnContext(call, ...args);
}
