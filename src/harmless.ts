/**
 * Calls what somebody else wrote, and lets no mistake in it reach anybody: neither a throw nor a rejection.
 *
 * @returns what it returned, or `undefined` where it threw.
 */
export function harmless<T>(call: () => T, onError: (error: unknown) => void = () => {}): T | undefined {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(onError);
    return result;
  } catch (error) {
    onError(error);
    return undefined;
  }
}
