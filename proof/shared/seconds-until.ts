import { setTimeout as sleep } from "node:timers/promises";

const EACH_MS = 20;
const MOST_OF_A_LOOK_MS = 1_000;

/**
 * Waits until it is so, for `most` seconds. Resolves to how many it waited, as the sum of its timers
 * and looks: a time for which the machine gives this process no processor counts as one of them.
 */
export async function secondsUntil(isSo: () => boolean | Promise<boolean>, most = 300): Promise<number> {
  for (let waitedMs = 0; ; ) {
    const began = performance.now();
    if ((await isSo()) || waitedMs >= most * 1_000) return waitedMs / 1_000;
    waitedMs += EACH_MS + Math.min(MOST_OF_A_LOOK_MS, performance.now() - began);
    await sleep(EACH_MS);
  }
}
