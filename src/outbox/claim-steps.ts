import { type EventKind, isMoreUrgent, KINDS } from "../conversion/kinds.js";
import { kindOf } from "../service/endpoints.js";
import type { Lane } from "./outbox.js";

/** Events that a claim takes together: of one lane, one urgency, and one of these states. */
export interface ClaimStep {
  /** How urgent its events are. */
  readonly urgency: EventKind;
  /** Never tried (`history.triedAt` is 0), or rested after an attempt. */
  readonly state: "untried" | "rested";
  /** How many more the lane may give: all its steps share it. */
  readonly quota: { readonly lane: Lane; left: number };
}

// As urgent as a payment: untried, then rested. Then what is less urgent: untried, then rested.
// Otherwise clicks that a sign-up waits for, and that the service never takes, would go before all
// other clicks again and again.
const LESS_URGENT = KINDS.filter((kind) => isMoreUrgent("payment", kind));
const MOST_URGENT = KINDS.slice(0, -LESS_URGENT.length);
const ORDER = [MOST_URGENT, LESS_URGENT].flatMap((urgencies) =>
  (["untried", "rested"] as const).flatMap((state) => urgencies.map((urgency) => ({ urgency, state }))),
);

/** A claim's steps in order, without those that can have no events. */
export function claimStepsOf(lanes: readonly Lane[]): ClaimStep[] {
  const quotas = lanes.map((lane) => ({ lane, left: lane.limit }));
  return ORDER.flatMap(({ urgency, state }) =>
    quotas.filter(({ lane }) => isStep(lane, urgency, state)).map((quota) => ({ urgency, state, quota })),
  );
}

function isStep({ endpoint, newWithinMs }: Lane, urgency: EventKind, state: ClaimStep["state"]): boolean {
  if (isMoreUrgent(kindOf(endpoint), urgency)) return false;
  return state === "untried" || newWithinMs === undefined;
}
