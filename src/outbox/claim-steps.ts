import { endpointOf, kindOf } from "../service/endpoints.js";
import type { Claim, Lane } from "./outbox.js";
import { isMoreUrgent, URGENCIES, type Urgency } from "./urgency.js";

/** Events that a claim takes together: of one lane and one urgency, and all never tried, or rested after an attempt, or still resting. */
export interface ClaimStep {
  /** How urgent its events are. */
  readonly urgency: Urgency;
  /** Whether its events were never tried, have rested after an attempt, or still rest. */
  readonly which: "untried" | "rested" | "resting";
  /** The lane, and how many more it may give, which all of its steps share. */
  readonly place: { readonly lane: Lane; left: number };
}

// Where no payment waits, events that were never tried go before all that have failed. Otherwise clicks that a sign-up waits
// for, and that the service never takes, would go before all other clicks again and again.
const [MOST_URGENT, OTHERS] = [URGENCIES.slice(0, 1), URGENCIES.slice(1)];
const ORDER: readonly (readonly [ClaimStep["which"], ...Urgency[]])[] = [
  ["untried", ...MOST_URGENT],
  ["rested", ...MOST_URGENT],
  ["untried", ...OTHERS],
  ["rested", ...OTHERS],
  ["resting", ...URGENCIES],
];

const STEPS = ORDER.flatMap(([which, ...urgencies]) => urgencies.map((urgency) => `${which} ${urgency}`));

/** Of two events, a claim takes the one with the higher precedence first, whatever their lanes. */
export function precedenceOf(urgency: Urgency, which: ClaimStep["which"]): number {
  return STEPS.length - STEPS.indexOf(`${which} ${urgency}`);
}

/** The steps of a claim, in their order. Steps that can have no events are left out. */
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

/** A live event at the head of its visitor's queue that no process has claimed. Times are in milliseconds since the epoch. */
export interface Head extends Pick<Claim, "event" | "history"> {
  /** The urgency of the most urgent event that waits behind it, or its own. */
  readonly urgency: Urgency;
  /** Since when it is the head with this urgency. */
  readonly since: number;
  /** Until when it rests after an attempt. */
  readonly readyAt: number;
}

/** The heads that a step takes, in their order. For a store that reads all of them; the outboxes of this package have an index instead. */
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
