import { LEAST_URGENT_FIRST, priorityOf } from "../../conversion/kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Lane } from "../claim.js";
import { type ClaimStep, claimStepsOf } from "../claim-steps.js";
import type { Value } from "./database.js";

/*
 * A queue's rank (the column `turn`: `rank` is a word of MySQL's) is its place in a claim: the least
 * first, and of equals the one that is due first. So a claim reads one range of one index.
 *
 * | rank | the queue's head |
 * | --- | --- |
 * | 4 · class + endpoint | may be claimed; the classes are below |
 * | 100 | rests until `due_at` |
 * | 101 | is claimed; `due_at` is the end of the lease |
 */
export const RESTING = 100;
export const CLAIMED = 101;

/** By the queue's urgency, and whether its head was tried: the order of `claimStepsOf`. */
const CLASSES = ["3 untried", "3 tried", "2 untried", "1 untried", "2 tried", "1 tried"];

/** @param urgency the priority of the queue's most urgent event. */
export function rankOf(urgency: number, wasTried: boolean, endpoint: number): number {
  return CLASSES.indexOf(`${urgency} ${wasTried ? "tried" : "untried"}`) * ENDPOINTS.length + endpoint;
}

/** The same in SQL. */
export function rankInSql(urgency: string, tried: string, endpoint: string): string {
  const cases = LEAST_URGENT_FIRST.map(priorityOf).flatMap((each) =>
    [0, 1].map((was) => `when ${urgency} = ${each} and ${tried} = ${was} then ${rankOf(each, was === 1, 0)}`),
  );
  return `(case ${cases.join(" ")} end + ${endpoint})`;
}

export const endpointNumber = (endpoint: Endpoint): number => ENDPOINTS.indexOf(endpoint);

/** All that a queue can have: its head is never more urgent than the queue. */
const POSSIBLE = LEAST_URGENT_FIRST.flatMap((urgency) =>
  ENDPOINTS.filter((each) => priorityOf(kindOf(each)) <= priorityOf(urgency)).flatMap((each) =>
    [false, true].map((wasTried) => rankOf(priorityOf(urgency), wasTried, endpointNumber(each))),
  ),
);

/** A range of the index: of one step of a claim, or of several that follow each other. */
export interface Scan {
  /** By the number of the endpoint. */
  readonly places: Map<number, ClaimStep["place"]>;
  /** SQL, and its values. */
  readonly where: string;
  readonly values: readonly Value[];
  readonly newestFirst: boolean;
  readonly limit: number;
  /** The last rank of a plain scan, which the next step may continue. */
  readonly lastRank?: number;
}

/** The scans of a claim, in order. Lanes without a limit of their own share theirs. */
export function scansOf(lanes: readonly Lane[], limit: number, now: string): Scan[] {
  const scans: Scan[] = [];
  for (const step of claimStepsOf(lanes)) {
    const before = scans.at(-1);
    const next = scanOf(step, limit, now);
    if (
      before?.lastRank !== undefined &&
      next.lastRank !== undefined &&
      follows(next.lastRank, before.lastRank)
    ) {
      const places = new Map([...before.places, ...next.places]);
      scans[scans.length - 1] = {
        ...before,
        places,
        values: [before.values[0] as Value, next.lastRank],
        lastRank: next.lastRank,
      };
    } else scans.push(next);
  }
  return scans;
}

function scanOf({ urgency, which, place }: ClaimStep, limit: number, now: string): Scan {
  const { endpoint, newestFirst = false, newWithinMs, limit: laneLimit } = place.lane;
  const number = endpointNumber(endpoint);
  const rank = rankOf(priorityOf(urgency), which !== "untried", number);
  const scan = { places: new Map([[number, place]]), newestFirst: false, limit: Math.min(limit, laneLimit) };
  const isNewestFirst = newestFirst && which === "untried";
  if (newWithinMs !== undefined) {
    const where = `turn = ? and due_at >= ${now} - ?`;
    return { ...scan, where, values: [rank, newWithinMs], newestFirst: isNewestFirst };
  }
  if (laneLimit < limit || isNewestFirst)
    return { ...scan, where: "turn = ?", values: [rank], newestFirst: isNewestFirst };
  return { ...scan, where: "turn between ? and ?", values: [rank, rank], lastRank: rank };
}

function follows(rank: number, before: number): boolean {
  return rank > before && !POSSIBLE.some((each) => each > before && each < rank);
}
