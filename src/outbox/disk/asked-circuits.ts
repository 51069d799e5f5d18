import type { Circuits } from "../circuits.js";
import type { Request, Results } from "./protocol.js";

/**
 * The file's circuits, for delivery.
 *
 * @param ask asks the thread, or the file itself.
 */
export function circuitsThrough(
  ask: <R extends Request>(request: R) => Promise<Results[R["type"]]>,
): Circuits {
  return {
    read: (destination) => ask({ type: "circuits", destination }),
    replace: (change) => ask({ type: "replace circuit", ...change }),
  };
}
