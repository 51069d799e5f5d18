/**
 * Calls what somebody else wrote, and lets no mistake in it reach anybody: neither a throw nor a rejection.
 *
 * @param onError may throw, too: not everything that is thrown can be turned into text.
 * @returns what it returned, or `undefined` where it threw.
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

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
