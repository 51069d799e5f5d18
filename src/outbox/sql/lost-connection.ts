const REQUESTS = 3;

/**
 * Makes a request. If its connection is lost, makes it again on another one: one lost connection is no outage. The first request may
 * have taken effect.
 *
 * @param request.isRepeated whether it was made before.
 * @param isLost whether an error says that the connection was lost, and not that none could be made.
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
