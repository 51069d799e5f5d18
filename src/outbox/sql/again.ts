import type { Clock } from "../../shared/clock.js";

/**
 * Repeats a task, even if it rejects, and never twice at a time. Returns a function that ends it.
 *
 * @param ms the pause before each run; a function gets for how long the last run took.
 */
export function again(
  clock: Clock,
  ms: number | ((took: number) => number),
  task: () => unknown,
): () => void {
  const pauseAfter = typeof ms === "number" ? () => ms : ms;
  let isStopped = false;
  let cancel = clock.after(pauseAfter(0), round);

  async function round(): Promise<void> {
    const began = clock.now();
    try {
      await task();
    } catch {
      // Appends and claims report what is wrong with the server.
    }
    if (!isStopped) cancel = clock.after(pauseAfter(clock.now() - began), round);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}
