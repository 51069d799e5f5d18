import type { Clock } from "../../shared/clock.js";

/**
 * Repeats a task, never twice at a time. Returns a function that ends it.
 *
 * @param ms the pause before the next time, given how long the last one took: both in milliseconds.
 * @param task if it rejects, it is still repeated.
 */
export function again(clock: Clock, ms: (took: number) => number, task: () => unknown): () => void {
  let isStopped = false;
  let cancel = clock.after(ms(0), round);

  async function round(): Promise<void> {
    const began = clock.now();
    try {
      await task();
    } catch {
      // Appends and claims report what is wrong with the server.
    }
    if (!isStopped) cancel = clock.after(ms(clock.now() - began), round);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}
