import type { Capacity, Lane } from "../outbox.js";
import { beforeOf, begunBesides } from "./line.js";
import { integer, list, NOW } from "./literals.js";

/** What is looked for in a lane, in this order: never tried, rested, or resting. */
export interface Part {
  readonly lane: Lane;
  readonly which: "newest" | "oldest" | "rested" | "resting";
  /** How many rows are looked at. */
  look: number;
}

/** An event that may be claimed, if it is its visitor's turn. */
export interface Candidate {
  /** The number of its part. */
  readonly part: number;
  readonly seq: number;
  /** The event that it waits for. */
  readonly before: number | null;
}

/** What a claim looks for, the most urgent first. */
export function partsOf({ lanes, limit }: Capacity, most: number): Part[] {
  return lanes.flatMap((lane) => {
    const look = Math.min(lane.limit, limit, most);
    const parts: Part[] = [{ lane, which: lane.newestFirst ? "newest" : "oldest", look }];
    if (lane.newWithinMs !== undefined) return parts;
    parts.push({ lane, which: "rested", look });
    if (lane.evenResting) parts.push({ lane, which: "resting", look });
    return parts;
  });
}

/**
 * The statement that looks for candidates. It reads and locks nothing: an index has each part in its order, and no more rows are
 * looked at than are asked for.
 *
 * @param held the seqs of what this process has.
 */
export function candidatesOf(
  prefix: string,
  parts: readonly Part[],
  { destination, held }: { destination: string; held: readonly number[] },
): string {
  const events = `\`${prefix}events\``;
  // An earlier event may be committed after a later one was tried.
  const triedBesides = begunBesides(
    prefix,
    "event",
    "event.claimed_by is null and other.tried > event.tried",
  );
  const notHeld = held.length === 0 ? "" : `and event.seq not in (${list(held.map(String))})`;

  return parts
    .map(({ lane, which, look }, nth) => {
      const since = lane.newWithinMs === undefined ? "0" : `${NOW} - ${integer(lane.newWithinMs)}`;
      const conditions = {
        newest: `tried = 0 and event.due_at between ${since} and ${NOW}`,
        oldest: `tried = 0 and event.due_at between ${since} and ${NOW}`,
        rested: `tried = 1 and event.due_at <= ${NOW}`,
        resting: `tried = 1 and event.due_at > ${NOW} and event.claimed_by is null`,
      };
      const order = which === "newest" ? "event.due_at desc, event.seq desc" : "event.due_at, event.seq";
      return `(
        select ${nth} as part, event.seq, coalesce(${beforeOf(prefix, "event")}, ${triedBesides}) as \`before\`
        from ${events} as event force index (\`${prefix}events_due\`)
        where event.state = 'queued' and event.destination = ${destination} and event.endpoint = '${lane.endpoint}'
          and event.${conditions[which]} ${notHeld}
        order by ${order} limit ${look}
      )`;
    })
    .join(" union all ");
}

/** A candidate that is to be claimed. */
export interface Chosen extends Candidate {
  readonly lane: Lane;
  readonly isResting: boolean;
}

/** What of these to claim, what to park, and where there may be more: parts of which all that was looked at waits for others. */
export function choose(
  parts: readonly Part[],
  found: readonly Candidate[],
  { limit, leftOf, most }: { limit: number; leftOf: Map<Lane, number>; most: number },
) {
  const chosen: Chosen[] = [];
  const behind: number[] = [];
  // Two lanes of one endpoint may both have it.
  const seen = new Set<number>();
  for (const [nth, part] of parts.entries()) {
    const { lane, which, look } = part;
    const candidates = found.filter((each) => Number(each.part) === nth);
    for (const each of candidates) {
      if (seen.has(Number(each.seq))) continue;
      const room = Math.min(limit - chosen.length, leftOf.get(lane) as number);
      if (each.before !== null) {
        seen.add(Number(each.seq));
        if (which !== "resting") behind.push(Number(each.seq));
      } else if (room > 0) {
        seen.add(Number(each.seq));
        chosen.push({ ...each, lane, isResting: which === "resting" });
        leftOf.set(lane, (leftOf.get(lane) as number) - 1);
      }
    }
    const hasRoom = limit > chosen.length && (leftOf.get(lane) as number) > 0;
    if (hasRoom && candidates.length === look && which !== "resting") {
      part.look = Math.min(2 * look, most);
      return { chosen, behind, rest: parts.slice(nth) };
    }
  }
  return { chosen, behind, rest: [] };
}

/** The same in an order that no other process has. */
export function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((each) => ({ each, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ each }) => each);
}
