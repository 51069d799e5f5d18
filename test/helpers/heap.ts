import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The bytes of heap that are still in use once the garbage was collected. */
export function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}
