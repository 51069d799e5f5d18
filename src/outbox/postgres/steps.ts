import { priorityOf } from "../../kinds.js";
import type { Endpoint } from "../../service/endpoints.js";
import { claimStepsOf } from "../claim-steps.js";
import type { Lane } from "../outbox.js";

/** One scan of a claim: which of the events of one endpoint and urgency it looks for, and in which order. */
export interface Step {
  /** The first is 1. */
  readonly lane: number;
  readonly endpoint: Endpoint;
  readonly urgency: number;
  /** `oldest` and `newest` of those that were never tried; `rested` and `resting` of those that were. */
  readonly scan: "oldest" | "newest" | "rested" | "resting";
  readonly new_within_ms: number | undefined;
  /** The due time from which it scans, in milliseconds since the epoch; absent: from the first. */
  readonly since: number | undefined;
}

/**
 * The scans of a claim, the first first.
 *
 * @param sinceOf the due time from which events of this endpoint and urgency are to be scanned.
 */
export function stepsOf(
  lanes: readonly Lane[],
  sinceOf: (endpoint: Endpoint, urgency: number, tried: boolean) => number | undefined,
): Step[] {
  return claimStepsOf(lanes).map(({ urgency: word, which, place: { lane } }) => {
    const { endpoint, newestFirst, newWithinMs } = lane;
    const urgency = priorityOf(word);
    const untried = newestFirst ? "newest" : "oldest";
    return {
      lane: lanes.indexOf(lane) + 1,
      endpoint,
      urgency,
      scan: which === "untried" ? untried : which,
      new_within_ms: newWithinMs,
      since: which === "resting" ? undefined : sinceOf(endpoint, urgency, which === "rested"),
    };
  });
}
