import { isInheritable, kindOfPriority, priorityOf } from "../../conversion/kinds.js";
import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import type { Capacity, Lane } from "../claim.js";
import { claimStepsOf } from "../claim-steps.js";
import type { Urgency } from "../urgency.js";
import { integer, listOf, NOW } from "./literals.js";
import { type IndexPart, periodIn } from "./periods.js";
import { NOT_ENTERED, urgencyIn } from "./urgency.js";
import { beforeOf, begunBesides } from "./visitor-queue.js";

/** A part of a search: of one lane and one urgency, never tried, rested, or resting. */
export interface Part {
  readonly urgency: Urgency;
  readonly lane: Lane;
  readonly which: "newest" | "oldest" | "rested" | "resting";
  /** How many rows it reads. */
  look: number;
}

/** May be claimed if it is the head of its visitor's queue. */
export interface Candidate {
  /** The number of its part; beyond all parts if it has not entered its visitor's queue. */
  readonly part: number;
  readonly seq: number;
  readonly urgency: number;
  readonly endpoint: Endpoint;
  readonly due_at: number;
  /** In milliseconds. */
  readonly due_for: number;
  /** The `seq` of the event that it waits for. */
  readonly before: number | null;
}

/** How many of an endpoint enter their queues at once. */
export const ENTERED_AT_ONCE = 250;
const OLDEST_FIRST = "period, due_at, seq";
// Clicks need not enter: they make no other event more urgent.
const ENTERING = ENDPOINTS.filter((endpoint) => isInheritable(kindOf(endpoint)));

/** In the order of the claim. */
export function partsOf({ lanes, limit }: Capacity, most: number): Part[] {
  return claimStepsOf(lanes).map(({ urgency, which, place: { lane, left } }) => ({
    urgency,
    lane,
    which: which === "untried" ? (lane.newestFirst ? "newest" : "oldest") : which,
    look: Math.min(left, limit, most),
  }));
}

/**
 * Looks for candidates, and for events that have not entered a queue, in closed lanes too. Locks
 * nothing. An index has each part in its order, so only the rows that are asked for are read.
 *
 * @param claimedHere the `seq` of what this process has claimed.
 * @param leaseEnd leases that end before it are over.
 * @param periodsOf gives the condition for the periods in which a part has due events.
 */
export function candidatesOf(
  prefix: string,
  parts: readonly Part[],
  {
    destination,
    claimedHere,
    leaseEnd,
    periodsOf,
  }: {
    destination: number;
    claimedHere: readonly number[];
    leaseEnd: string;
    periodsOf: (part: IndexPart) => string;
  },
): string {
  const events = `\`${prefix}events\``;
  const notClaimedHere =
    claimedHere.length === 0 ? "" : `and seq not in (${listOf(claimedHere.map(String))})`;

  const isFree = `(claimed_by is null or due_at <= ${leaseEnd})`;
  const select = (nth: number, where: string, order: string, look: number) => `(
    select ${nth} as part, seq from ${events} force index (\`${prefix}events_due\`)
    where state = 'queued' and destination = ${destination} and ${where} ${notClaimedHere} order by ${order} limit ${look})`;

  // `+ 0`: otherwise the server uses the index's range of `due_at`, and scans beyond the period.
  const isDue = (part: IndexPart) => `tried = ${part.tried} and ${periodsOf(part)} and due_at + 0 <= ${NOW}`;

  const selects = parts.map(({ urgency, lane, which, look }, nth) => {
    const { endpoint } = lane;
    const at = { urgency: priorityOf(urgency), endpoint };
    const since = `(${NOW} - ${integer(lane.newWithinMs ?? 0)})`;
    const isNew =
      lane.newWithinMs === undefined ? "true" : `period >= ${periodIn(since)} and due_at + 0 >= ${since}`;
    const conditions = {
      newest: `${isDue({ ...at, tried: 0 })} and ${isNew} and ${isFree}`,
      oldest: `${isDue({ ...at, tried: 0 })} and ${isNew} and ${isFree}`,
      rested: `${isDue({ ...at, tried: 1 })} and ${isFree}`,
      resting: `tried = 1 and period >= ${periodIn(NOW)} and due_at > ${NOW} and claimed_by is null`,
    };
    const where = `urgency = ${at.urgency} and endpoint = '${endpoint}' and ${conditions[which]}`;
    return select(nth, where, which === "newest" ? "period desc, due_at desc, seq desc" : OLDEST_FIRST, look);
  });
  const entering = ENTERING.map((endpoint, nth) => {
    const due = isDue({ urgency: NOT_ENTERED, endpoint, tried: 0 });
    const where = `urgency = ${NOT_ENTERED} and endpoint = '${endpoint}' and ${due}`;
    return select(parts.length + nth, where, OLDEST_FIRST, ENTERED_AT_ONCE);
  });

  // A later event may be tried before an earlier one is committed.
  const triedBesides = begunBesides(
    prefix,
    "event",
    "event.claimed_by is null and other.tried > event.tried",
  );
  return `
    select straight_join found.part, event.seq, ${urgencyIn("event.")} as urgency, event.endpoint,
      event.due_at, ${NOW} - event.due_at as due_for, coalesce(${beforeOf(prefix, "event")}, ${triedBesides}) as \`before\`
    from (${[...selects, ...entering].join(" union all ")}) as found join ${events} as event on event.seq = found.seq
    order by event.due_at, event.seq`;
}

/** To be claimed. */
export interface Chosen extends Candidate {
  readonly lane: Lane;
  readonly isResting: boolean;
}

/**
 * Which to claim, and which to park: to set behind the event that they wait for. `rest`: the parts
 * whose events, as far as read, all wait for others.
 */
export function choose(
  parts: readonly Part[],
  found: readonly Candidate[],
  { limit, leftOf, most }: { limit: number; leftOf: Map<Lane, number>; most: number },
) {
  const chosen: Chosen[] = [];
  const behind: Candidate[] = [];
  // Two lanes of one endpoint may share an event.
  const seen = new Set<number>();
  for (const [nth, part] of parts.entries()) {
    const { lane, which, look } = part;
    const isOwn = (each: Candidate) => Number(each.part) === nth;
    const candidates = found.filter(
      (each) => isOwn(each) || (hasNotEntered(each, parts) && isIn(each, part)),
    );
    if (which === "newest") candidates.reverse();
    for (const each of candidates) {
      const seq = Number(each.seq);
      if (seen.has(seq)) continue;
      const room = Math.min(limit - chosen.length, leftOf.get(lane) as number);
      if (each.before !== null) {
        seen.add(seq);
        if (which !== "resting") behind.push(each);
      } else if (room > 0) {
        seen.add(seq);
        chosen.push({ ...each, lane, isResting: which === "resting" });
        leftOf.set(lane, (leftOf.get(lane) as number) - 1);
      }
    }
    const hasRoom = limit > chosen.length && (leftOf.get(lane) as number) > 0;
    if (hasRoom && found.filter(isOwn).length === look && which !== "resting") {
      part.look = Math.min(2 * look, most);
      return { chosen, behind, rest: parts.slice(nth) };
    }
  }
  return { chosen, behind, rest: [] };
}

/** Whether it was found because it has not entered a queue. */
export function hasNotEntered({ part }: Candidate, parts: readonly Part[]): boolean {
  return Number(part) >= parts.length;
}

/** Whether a part asks for an event that has not entered a queue. */
function isIn({ urgency, endpoint, due_for }: Candidate, { urgency: asked, lane, which }: Part): boolean {
  const isNew = Number(due_for) <= (lane.newWithinMs ?? Number.POSITIVE_INFINITY);
  return (
    (which === "newest" || which === "oldest") &&
    kindOfPriority(Number(urgency)) === asked &&
    endpoint === lane.endpoint &&
    isNew
  );
}

export function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((each) => ({ each, position: Math.random() }))
    .sort((one, other) => one.position - other.position)
    .map(({ each }) => each);
}
