import { sleep } from "../../shared/real-timers.js";

/** For a connection and what is asked of it together, in milliseconds. */
export const LONGEST_WAIT_MS = 30_000;

/** What was asked of a server, as long as it answers in time: it may never answer at all. @param late makes the error otherwise. */
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
