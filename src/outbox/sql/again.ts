import type { Clock } from "../../shared/clock.js";

/**
 * Does something again and again, never twice at a time, until the function that it returns is called.
 *
 * @param ms the pause before the next time, given how long the last one took: both in milliseconds.
 * @param task where it rejects, it is tried again the next time.
 */
export function again(clock: Clock, ms: (took: number) => number, task: () => unknown): () => void {
  let isStopped = false;
  let cancel = clock.after(ms(0), round);

  async function round(): Promise<void> {
    const began = clock.now();
    try {
      await task();
    } catch {
      // Whatever is wrong with the server is told by claiming and storing.
    }
    if (!isStopped) cancel = clock.after(ms(clock.now() - began), round);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}
