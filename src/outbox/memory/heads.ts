import { type InLine, Line } from "../../shared/line.js";
import type { ClaimStep } from "../claim-steps.js";
import type { Lane } from "../outbox.js";

/** A line of events that are their visitors' next. */
export type Waiting<Entry extends Head<Entry>> = Line<Entry, "turnBefore", "turnAfter">;

/** An event's place in one of these lines. */
interface Head<Entry> extends InLine<Entry, "turnBefore", "turnAfter"> {
  /** Since when it has been its visitor's next and as urgent as it is, in milliseconds since the epoch. */
  readonly since: number;
}

/** Equally urgent events of one endpoint that are their visitors' next. */
export class Heads<Entry extends Head<Entry>> {
  /** Never tried, and next of their visitors since they came, as urgent as they are. In order of that time. */
  readonly first: Waiting<Entry> = new Line("turnBefore", "turnAfter");
  /** Never tried, and next of their visitors, or as urgent as they are, since later. In order of that time. */
  readonly later: Waiting<Entry> = new Line("turnBefore", "turnAfter");
  /** Tried, and rested. */
  readonly due: Waiting<Entry> = new Line("turnBefore", "turnAfter");
  /** Tried, the one that was tried longest ago at the front. */
  readonly resting: Waiting<Entry> = new Line("turnBefore", "turnAfter");

  /** Which of them a lane hands over next. */
  next(which: ClaimStep["which"], { newestFirst, newWithinMs }: Lane, now: number): Entry | undefined {
    const { first, later, due, resting } = this;
    if (which === "rested") return due.first;
    if (which === "resting") return resting.first;
    const next = newestFirst ? newer(first.last, later.last) : older(first.first, later.first);
    return next && now - next.since <= (newWithinMs ?? Number.POSITIVE_INFINITY) ? next : undefined;
  }
}

function older<T extends { since: number }>(one: T | undefined, other: T | undefined): T | undefined {
  return one && other ? (other.since < one.since ? other : one) : (one ?? other);
}

function newer<T extends { since: number }>(one: T | undefined, other: T | undefined): T | undefined {
  return one && other ? (one.since > other.since ? one : other) : (one ?? other);
}
