import type { Clock } from "../../shared/clock.js";
import { again } from "./again.js";
import type { Counts } from "./counts.js";

/** A due payment waits so long at most for its place in the queue, once it is counted. */
const EVERY_MS = 1_000;

/**
 * Moves scheduled payments that are due into the queue.
 *
 * @param options.release moves some of one destination. Resolves to their number.
 * @param options.wake called when there are new events to claim.
 */
export function createReleases(options: {
  clock: Clock;
  counts: Counts;
  release: (destination: number) => Promise<number>;
  wake: () => void;
}) {
  const { clock, counts, release, wake } = options;

  async function releaseAll(destination: number): Promise<void> {
    while (counts.scheduled(destination) > 0 && (await release(destination)) > 0) wake();
  }

  return {
    /** Does it from now on for one destination. Returns a function that ends that. */
    begin: (destination: number) =>
      again(
        clock,
        () => EVERY_MS,
        () => releaseAll(destination),
      ),
    /** Does it once for all destinations. */
    async everywhere(): Promise<void> {
      await counts.take();
      const { byDestination = {} } = counts.current(undefined);
      for (const destination of Object.keys(byDestination)) await releaseAll(Number(destination));
    },
  };
}
