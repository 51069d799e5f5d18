import { setTimeout as sleep } from "node:timers/promises";

const EACH_MS = 20;

/**
 * Waits until it is so, for `most` seconds. Resolves to how many it waited, as the sum of its timers:
 * a time for which the machine gives this process no processor counts as one of them.
 */
export async function secondsUntil(isSo: () => boolean | Promise<boolean>, most = 900): Promise<number> {
  let waitedMs = 0;
  for (; !(await isSo()) && waitedMs < most * 1_000; waitedMs += EACH_MS) await sleep(EACH_MS);
  return waitedMs / 1_000;
}
