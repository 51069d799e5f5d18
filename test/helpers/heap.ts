import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const TURNS = 10;
const NOISE_BYTES = 50_000;

/** The bytes of heap that are still in use once the garbage was collected. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  collect();
  // What the first run has only found out to be garbage.
  collect();
  return process.memoryUsage().heapUsed;
}

/**
 * The same once nothing of earlier tests is left in the heap: that takes some turns of the event
 * loop.
 */
export async function heapAtRest(): Promise<number> {
  let least = heapUsed();
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise(setImmediate);
    const used = heapUsed();
    if (used < least - NOISE_BYTES) turn = 0;
    least = Math.min(least, used);
  }
  return least;
}
