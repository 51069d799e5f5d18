import { ENDPOINTS, type Endpoint, kindOf } from "../../service/endpoints.js";
import { claimStepsOf } from "../claim-steps.js";
import type { Capacity, Lane } from "../outbox.js";
import type { Urgency } from "../urgency.js";
import { beforeOf, begunBesides } from "./line.js";
import { integer, list, NOW } from "./literals.js";
import { NOT_LINED_UP, urgencyIn, urgencyNumber, urgencyOf } from "./urgency.js";

/** One part of a search: events of one lane and one urgency that were never tried, have rested, or rest. */
export interface Part {
  readonly urgency: Urgency;
  readonly lane: Lane;
  readonly which: "newest" | "oldest" | "rested" | "resting";
  /** How many rows are looked at. */
  look: number;
}

/** An event that may be claimed if it is the head of its visitor's queue. */
export interface Candidate {
  /** The number of its part; a number beyond all parts where the event was not lined up yet. */
  readonly part: number;
  readonly seq: number;
  readonly urgency: number;
  readonly endpoint: Endpoint;
  readonly due_at: number;
  /** For how long it has been due, in milliseconds. */
  readonly due_for: number;
  /** The event that it waits for. */
  readonly before: number | null;
}

/** How many events of an endpoint are lined up at once. */
export const LINED_UP_AT_ONCE = 250;
// No click has to be lined up: it makes no other event more urgent.
const LINING_UP = ENDPOINTS.filter((endpoint) => kindOf(endpoint) !== "click");

/** The parts of a claim's search, in the order of the claim. */
export function partsOf({ lanes, limit }: Capacity, most: number): Part[] {
  return claimStepsOf(lanes).map(({ urgency, which, place: { lane, left } }) => ({
    urgency,
    lane,
    which: which === "untried" ? (lane.newestFirst ? "newest" : "oldest") : which,
    look: Math.min(left, limit, most),
  }));
}

/**
 * The statement that looks for candidates, and for events that are not lined up yet, whether or not their lane is open. It reads
 * and locks nothing: an index has each part in its order, and no more rows are looked at than are asked for.
 *
 * @param held the seqs of what this process has.
 * @param leaseEnd until when leases are over.
 */
export function candidatesOf(
  prefix: string,
  parts: readonly Part[],
  { destination, held, leaseEnd }: { destination: string; held: readonly number[]; leaseEnd: string },
): string {
  const events = `\`${prefix}events\``;
  const notHeld = held.length === 0 ? "" : `and seq not in (${list(held.map(String))})`;

  const isFree = `(claimed_by is null or due_at <= ${leaseEnd})`;
  const select = (nth: number, where: string, order: string, look: number) => `(
    select ${nth} as part, seq from ${events} force index (\`${prefix}events_due\`)
    where state = 'queued' and destination = ${destination} and ${where} ${notHeld} order by ${order} limit ${look})`;

  const selects = parts.map(({ urgency, lane, which, look }, nth) => {
    const since = lane.newWithinMs === undefined ? "0" : `${NOW} - ${integer(lane.newWithinMs)}`;
    const conditions = {
      newest: `tried = 0 and due_at between ${since} and ${NOW} and ${isFree}`,
      oldest: `tried = 0 and due_at between ${since} and ${NOW} and ${isFree}`,
      rested: `tried = 1 and due_at <= ${NOW} and ${isFree}`,
      resting: `tried = 1 and due_at > ${NOW} and claimed_by is null`,
    };
    const where = `urgency = ${urgencyNumber(urgency)} and endpoint = '${lane.endpoint}' and ${conditions[which]}`;
    return select(nth, where, which === "newest" ? "due_at desc, seq desc" : "due_at, seq", look);
  });
  const lineUp = LINING_UP.map((endpoint, nth) => {
    const where = `urgency = ${NOT_LINED_UP} and endpoint = '${endpoint}' and tried = 0 and due_at <= ${NOW}`;
    return select(parts.length + nth, where, "due_at, seq", LINED_UP_AT_ONCE);
  });

  // An earlier event may be committed after a later one was tried.
  const triedBesides = begunBesides(
    prefix,
    "event",
    "event.claimed_by is null and other.tried > event.tried",
  );
  return `
    select straight_join found.part, event.seq, ${urgencyIn("event.")} as urgency, event.endpoint,
      event.due_at, ${NOW} - event.due_at as due_for, coalesce(${beforeOf(prefix, "event")}, ${triedBesides}) as \`before\`
    from (${[...selects, ...lineUp].join(" union all ")}) as found join ${events} as event on event.seq = found.seq
    order by event.due_at, event.seq`;
}

/** A candidate that is to be claimed. */
export interface Chosen extends Candidate {
  readonly lane: Lane;
  readonly isResting: boolean;
}

/** Which of these to claim and which to park. `rest`: the parts in which every event that was read waits for another. */
export function choose(
  parts: readonly Part[],
  found: readonly Candidate[],
  { limit, leftOf, most }: { limit: number; leftOf: Map<Lane, number>; most: number },
) {
  const chosen: Chosen[] = [];
  const behind: Candidate[] = [];
  // Two lanes of one endpoint may both have it.
  const seen = new Set<number>();
  for (const [nth, part] of parts.entries()) {
    const { lane, which, look } = part;
    const isOwn = (each: Candidate) => Number(each.part) === nth;
    const candidates = found.filter((each) => isOwn(each) || (isNotLinedUp(each, parts) && isIn(each, part)));
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

/** Whether the search found it because it is not lined up yet. */
export function isNotLinedUp({ part }: Candidate, parts: readonly Part[]): boolean {
  return Number(part) >= parts.length;
}

/** Whether an event that is not lined up yet is one that a part asks for. */
function isIn({ urgency, endpoint, due_for }: Candidate, { urgency: asked, lane, which }: Part): boolean {
  const isNew = Number(due_for) <= (lane.newWithinMs ?? Number.POSITIVE_INFINITY);
  return (
    (which === "newest" || which === "oldest") &&
    urgencyOf(urgency) === asked &&
    endpoint === lane.endpoint &&
    isNew
  );
}

/** The same in a random order. */
export function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((each) => ({ each, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ each }) => each);
}
