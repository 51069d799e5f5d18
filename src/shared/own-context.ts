import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Calls a function in the async context in which the package was loaded, which is no request's. Events of many visitors share
 * timers, sockets and transactions, so none of these may run under one visitor's trace.
 */
export const inOwnContext: <Args extends unknown[], Result>(
  call: (...args: Args) => Result,
  ...args: Args
) => Result = AsyncLocalStorage.snapshot();

/** The same function, called in no request's async context. */
export function detached<Args extends unknown[], Result>(
  call: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) => inOwnContext(call, ...args);
}
