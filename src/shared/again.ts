import type { Clock } from "./clock.js";

export type Repeated = ReturnType<typeof again>;

/**
 * Repeats a task, even if it rejects, and never twice at a time.
 *
 * @param pause how long until each run, in milliseconds; it gets for how long the last run took.
 */
export function again(clock: Clock, pause: (took: number) => number, task: () => unknown) {
  let isStopped = false;
  let cancel = clock.after(pause(0), round);

  /** The next run comes so soon. */
  function hasten(ms: number): void {
    cancel();
    if (!isStopped) cancel = clock.after(ms, round);
  }

  async function round(): Promise<void> {
    const began = clock.now();
    try {
      await task();
    } catch {
      // Appends and claims report what is wrong with the server.
    }
    hasten(pause(clock.now() - began));
  }

  return {
    hasten,
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
