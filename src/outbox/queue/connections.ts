import { monotonic, sleep } from "../../shared/real-timers.js";

/** For a connection and its statement together. */
export const LONGEST_WAIT_MS = 30_000;
const STEP_MS = 1_000;

/**
 * Rejects with `late()` after this time: a server may never answer. Time in which this process is
 * blocked does not count: it can neither read an answer nor send the next statement.
 */
export async function inTime<T>(answer: Promise<T>, late: () => Error): Promise<T> {
  const over = new AbortController();
  async function timeUp(): Promise<never> {
    for (let leftMs = LONGEST_WAIT_MS; leftMs > 0; ) {
      const began = monotonic();
      await sleep(STEP_MS, undefined, { ref: false, signal: over.signal });
      if (monotonic() - began < 2 * STEP_MS) leftMs -= STEP_MS;
    }
    throw late();
  }
  try {
    return await Promise.race([answer, timeUp()]);
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
