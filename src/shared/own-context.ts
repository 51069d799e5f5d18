import { AsyncResource } from "node:async_hooks";

/** `jest --detectOpenHandles` would take `AsyncLocalStorage.snapshot()` for something left open. */
class OwnContext extends AsyncResource {
  hasRef(): boolean {
    return false;
  }
}

const ownContext = new OwnContext("express-affiliate");

/**
 * The same function, always called in no request's async context. Events of many visitors share
 * timers, sockets and transactions, so none of these may run under one visitor's trace.
 */
export function detached<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) => ownContext.runInAsyncScope(call, undefined, ...args);
}
