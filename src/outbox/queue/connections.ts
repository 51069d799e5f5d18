import { sleep } from "../../shared/real-timers.js";

/** For a connection and its statement together. */
export const LONGEST_WAIT_MS = 30_000;

/** Rejects with `late()` after this time: a server may never answer. */
export async function inTime<T>(answer: Promise<T>, late: () => Error): Promise<T> {
  const over = new AbortController();
  const timeUp = sleep(LONGEST_WAIT_MS, undefined, { ref: false, signal: over.signal }).then(
    () => {
      throw late();
    },
    () => undefined as never,
  );
  try {
    return await Promise.race([answer, timeUp]);
  } finally {
    over.abort();
  }
}

const REQUESTS = 3;

/**
 * Repeats a request (which may have taken effect) on another connection if its own was lost, not if
 * none can be made: one lost connection is no outage.
 */
export async function repeatWhereLost<T>(
  request: () => Promise<T>,
  isLost: (error: unknown) => boolean,
): Promise<T> {
  for (let nth = 1; ; nth++) {
    try {
      return await request();
    } catch (error) {
      if (!isLost(error) || nth === REQUESTS) throw error;
    }
  }
}
