/**
 * Calls a function of the host, and catches what it throws or rejects with. `onError` may throw
 * too: some thrown values cannot be turned into text.
 *
 * @returns what the function returned; `undefined` if it threw.
 */
export function harmless<T>(call: () => T, onError: (error: unknown) => void = () => {}): T | undefined {
  function report(error: unknown): void {
    try {
      onError(error);
    } catch {}
  }

  try {
    const result = call();
    if (isThenable(result)) Promise.resolve(result).catch(report);
    return result;
  } catch (error) {
    report(error);
    return undefined;
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
