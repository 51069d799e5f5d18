import { kindOf } from "../service/endpoints.js";
import type { Lane } from "./outbox.js";
import { isMoreUrgent, URGENCIES, type Urgency } from "./urgency.js";

/** What a claim takes together: of one lane, as urgent as each other, and never tried, or rested after an attempt, or still resting. */
export interface ClaimStep {
  readonly urgency: Urgency;
  readonly which: "untried" | "rested" | "resting";
  /** The lane, and how many more it may give, which all of its steps share. */
  readonly place: { readonly lane: Lane; left: number };
}

// Of what no payment waits for, all that was never tried goes before all that has failed. Else strangers' clicks that a sign-up
// waits for, and that the service never takes, would go before all other clicks again and again.
const ORDER: readonly (readonly [ClaimStep["which"], ...Urgency[]])[] = [
  ["untried", "payment"],
  ["rested", "payment"],
  ["untried", "registration", "click"],
  ["rested", "registration", "click"],
  ["resting", ...URGENCIES],
];

/** In which order a claim takes events: those of a step before those of the next. Without steps that can have none. */
export function claimStepsOf(lanes: readonly Lane[]): ClaimStep[] {
  const places = lanes.map((lane) => ({ lane, left: lane.limit }));
  return ORDER.flatMap(([which, ...urgencies]) =>
    urgencies.flatMap((urgency) =>
      places.filter(({ lane }) => isStep(lane, urgency, which)).map((place) => ({ urgency, which, place })),
    ),
  );
}

function isStep(
  { endpoint, newWithinMs, evenResting }: Lane,
  urgency: Urgency,
  which: ClaimStep["which"],
): boolean {
  if (isMoreUrgent(kindOf(endpoint), urgency)) return false;
  return which === "untried" || (newWithinMs === undefined && (which === "rested" || evenResting === true));
}
