import { sleep } from "../../shared/real-timers.js";

/** For a connection and its statement together, in milliseconds. */
export const LONGEST_WAIT_MS = 30_000;

/** Waits for a server's answer for a limited time: it may never come. @param late makes the error for that. */
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
