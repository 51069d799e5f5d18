import { priorityOf } from "../../conversion/kinds.js";
import type { Endpoint } from "../../service/endpoints.js";
import type { Lane } from "../claim.js";
import { claimStepsOf } from "../claim-steps.js";

/** One scan of a claim: which events of one endpoint and urgency it looks for, in which order. */
export interface Step {
  /** The first is 1. */
  readonly lane: number;
  readonly endpoint: Endpoint;
  readonly urgency: number;
  /** `oldest` and `newest`: never tried. `rested` and `resting`: tried. */
  readonly scan: "oldest" | "newest" | "rested" | "resting";
  readonly new_within_ms: number | undefined;
  /** The due time from which it scans, in milliseconds since the epoch. */
  readonly since: number | undefined;
}

/** The name of the part of the index that a step scans. */
export function nameOf({ endpoint, urgency, scan }: Pick<Step, "endpoint" | "urgency" | "scan">): string {
  return `${endpoint} ${urgency} ${scan === "oldest" || scan === "newest" ? "untried" : "tried"}`;
}

/** The scans of a claim, the first first. `sinceOf` says from which due time one scans. */
export function stepsOf(lanes: readonly Lane[], sinceOf: (scan: string) => number | undefined): Step[] {
  return claimStepsOf(lanes).map(({ urgency: word, which, place: { lane } }) => {
    const { endpoint, newestFirst, newWithinMs } = lane;
    const untried = newestFirst ? "newest" : "oldest";
    const scan = which === "untried" ? untried : which;
    const urgency = priorityOf(word);
    return {
      lane: lanes.indexOf(lane) + 1,
      endpoint,
      urgency,
      scan,
      new_within_ms: newWithinMs,
      since: sinceOf(nameOf({ endpoint, urgency, scan })),
    };
  });
}
