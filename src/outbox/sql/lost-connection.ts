const REQUESTS = 3;

/**
 * Repeats a request (which may have taken effect) on another connection if its own was lost, not if
 * none can be made: one lost connection is no outage.
 */
export async function repeatWhereLost<T>(
  request: (isRepeated: boolean) => Promise<T>,
  isLost: (error: unknown) => boolean,
): Promise<T> {
  for (let nth = 1; ; nth++) {
    try {
      return await request(nth > 1);
    } catch (error) {
      if (!isLost(error) || nth === REQUESTS) throw error;
    }
  }
}
