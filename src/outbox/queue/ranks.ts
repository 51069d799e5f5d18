import { priorityOf } from "../../conversion/kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import { type ClaimStep, claimStepsOf } from "../claim-steps.js";
import type { Lane } from "../outbox.js";
import { PRIORITIES } from "./rows.js";

/*
 * A queue's rank says where a claim finds the queue: the least first, and of equals the one that is
 * due first. So a claim reads one range of one index. The column is `turn`: MySQL reserves `rank`.
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

/** The number of the endpoint in such a rank. */
export const endpointIn = (rank: number): number => rank % ENDPOINTS.length;

/** The same in SQL. */
export function rankInSql(urgency: string, tried: string, endpoint: string): string {
  const cases = PRIORITIES.flatMap((kind) =>
    [0, 1].map((was) => `when ${urgency} = ${kind} and ${tried} = ${was} then ${rankOf(kind, was === 1, 0)}`),
  );
  return `(case ${cases.join(" ")} end + ${endpoint})`;
}

export const endpointNumber = (endpoint: Endpoint): number => ENDPOINTS.indexOf(endpoint);

/** All that a queue of this urgency can have: its head is never more urgent than the queue. */
export function ranksOf(urgency: number): number[] {
  return ENDPOINTS.filter((endpoint) => priorityOf(kindOf(endpoint)) <= urgency).flatMap((endpoint) =>
    [false, true].map((wasTried) => rankOf(urgency, wasTried, endpointNumber(endpoint))),
  );
}

const POSSIBLE = PRIORITIES.flatMap(ranksOf);

/** A lane, and how many more it may give. */
export type Quota = ClaimStep["quota"];

/** A range of the index: of one step of a claim, or of several that follow each other. */
export interface Scan {
  /** By the number of the endpoint. */
  readonly quotas: Map<number, Quota>;
  readonly from: number;
  to: number;
  readonly newestFirst: boolean;
  readonly newWithinMs: number | undefined;
  readonly limit: number;
}

/** The scans of a claim, in order. Lanes without a limit of their own share theirs. */
export function scansOf(lanes: readonly Lane[], limit: number): Scan[] {
  const scans: Scan[] = [];
  const isPlain = (scan: Scan) => !scan.newestFirst && scan.newWithinMs === undefined && scan.limit === limit;
  for (const { urgency, state, quota } of claimStepsOf(lanes)) {
    const { endpoint, newestFirst = false, newWithinMs, limit: laneLimit } = quota.lane;
    const number = endpointNumber(endpoint);
    const rank = rankOf(priorityOf(urgency), state !== "untried", number);
    const next: Scan = {
      quotas: new Map([[number, quota]]),
      from: rank,
      to: rank,
      newWithinMs,
      newestFirst: newestFirst && state === "untried",
      limit: Math.min(limit, laneLimit),
    };
    const before = scans.at(-1);
    const isBetween = (other: number) => before !== undefined && before.to < other && other < rank;
    if (before && before.to < rank && !POSSIBLE.some(isBetween) && [before, next].every(isPlain)) {
      before.quotas.set(number, quota);
      before.to = rank;
    } else scans.push(next);
  }
  return scans;
}
