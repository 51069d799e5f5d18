import { type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Lane } from "../outbox.js";
import { URGENCIES } from "../urgency.js";

/** One scan of a claim: which of the events of one endpoint and urgency it looks for, and in which order. */
export interface Step {
  /** The first is 1. */
  readonly lane: number;
  readonly endpoint: Endpoint;
  readonly urgency: number;
  /** `oldest` and `newest` of those that were never tried; `rested` and `resting` of those that were. */
  readonly scan: "oldest" | "newest" | "rested" | "resting";
  readonly new_within_ms?: number | undefined;
  /** From where it is scanned, in milliseconds since the epoch; absent: from the first. */
  readonly since?: number | undefined;
}

/**
 * The scans of a claim, the first first: for each urgency in turn the lanes in their order, in a lane first those that were
 * never tried; what rests after all that does not.
 *
 * @param sinceOf from where events of this endpoint and urgency are to be scanned.
 */
export function stepsOf(
  lanes: readonly Lane[],
  sinceOf: (endpoint: Endpoint, urgency: number, tried: boolean) => number | undefined,
): Step[] {
  const steps: Step[] = [];
  const resting: Step[] = [];
  for (const urgency of URGENCIES.keys()) {
    for (const [nth, { endpoint, newestFirst, newWithinMs, evenResting }] of lanes.entries()) {
      // An event is never less urgent than its kind.
      if (urgency > URGENCIES.indexOf(kindOf(endpoint))) continue;
      const step = { lane: nth + 1, endpoint, urgency };
      const since = sinceOf(endpoint, urgency, false);
      steps.push({ ...step, scan: newestFirst ? "newest" : "oldest", new_within_ms: newWithinMs, since });
      if (newWithinMs !== undefined) continue;
      steps.push({ ...step, scan: "rested", since: sinceOf(endpoint, urgency, true) });
      if (evenResting) resting.push({ ...step, scan: "resting" });
    }
  }
  return [...steps, ...resting];
}
