import type { Clock } from "../../shared/clock.js";
import { again } from "./again.js";
import type { Counts } from "./counts.js";

/** How long a counted payment that is due waits at most for its place in the queue. */
const EVERY_MS = 1_000;

/** Moves due scheduled payments into the queue. `release`: some, and resolves to their number. */
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
    /** For one destination, until the returned function is called. */
    begin: (destination: number) => again(clock, EVERY_MS, () => releaseAll(destination)),
    /** Once, for all destinations. */
    async everywhere(): Promise<void> {
      await counts.take();
      const { byDestination = {} } = counts.current(undefined);
      for (const destination of Object.keys(byDestination)) await releaseAll(Number(destination));
    },
  };
}
