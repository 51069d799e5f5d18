import { endpointOf, kindOf } from "../service/endpoints.js";
import type { Claim, Lane } from "./outbox.js";
import { isMoreUrgent, URGENCIES, type Urgency } from "./urgency.js";

/** What a claim takes together: of one lane, as urgent as each other, and never tried, or rested after an attempt, or still resting. */
export interface ClaimStep {
  /** How urgent its events are. */
  readonly urgency: Urgency;
  /** Whether its events were never tried, have rested after an attempt, or still rest. */
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

const STEPS = ORDER.flatMap(([which, ...urgencies]) => urgencies.map((urgency) => `${which} ${urgency}`));

/** Which of two events a claim takes first, wherever their lanes are: the one with more. */
export function precedenceOf(urgency: Urgency, which: ClaimStep["which"]): number {
  return STEPS.length - STEPS.indexOf(`${which} ${urgency}`);
}

/** The precedence of a claim. */
export function precedenceOfClaim({ urgency, event, history }: Claim): number {
  return precedenceOf(urgency ?? event.kind, history.triedAt > 0 ? "rested" : "untried");
}

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

/** A live event that is its visitor's next, and that no process has. Times are in milliseconds since the epoch. */
export interface Head extends Pick<Claim, "event" | "history"> {
  /** As urgent as the most urgent of its visitor's events that wait behind it. */
  readonly urgency: Urgency;
  /** Since when it is its visitor's next, as urgent as it is. */
  readonly since: number;
  /** Until when it rests after an attempt. */
  readonly readyAt: number;
}

/** The heads that a step takes, the first first. For a store that looks through all of them; ours have an index instead. */
export function headsOf<H extends Head>(step: ClaimStep, heads: readonly H[], now: number): H[] {
  const { endpoint, newestFirst, newWithinMs = Number.POSITIVE_INFINITY } = step.place.lane;
  const found = heads.filter(({ event, history, urgency, since, readyAt }) => {
    if (urgency !== step.urgency || endpointOf(event) !== endpoint) return false;
    if (history.triedAt === 0) return step.which === "untried" && now - since <= newWithinMs;
    return step.which === "resting" || (step.which === "rested" && readyAt <= now);
  });
  found.sort((one, other) => one.since - other.since);
  return newestFirst && step.which === "untried" ? found.reverse() : found;
}
