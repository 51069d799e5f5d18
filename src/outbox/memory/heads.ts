import { type InLine, Line } from "../../shared/line.js";
import type { ClaimStep } from "../claim-steps.js";
import type { Lane } from "../outbox.js";

/** A list of heads. */
export type HeadLine<Entry extends Linked<Entry>> = Line<Entry, "headBefore", "headAfter">;

/** An event's neighbours in such a list. */
interface Linked<Entry> extends InLine<Entry, "headBefore", "headAfter"> {
  /** Since when it has been the head with this urgency, in milliseconds since the epoch. */
  readonly since: number;
}

/** The heads of visitors' queues that have one endpoint and one urgency. */
export class Heads<Entry extends Linked<Entry>> {
  /** Never tried; heads with this urgency since they came. In order of that time. */
  readonly first: HeadLine<Entry> = new Line("headBefore", "headAfter");
  /** Never tried; became heads, or got this urgency, later. In order of that time. */
  readonly later: HeadLine<Entry> = new Line("headBefore", "headAfter");
  /** Tried, and rested. */
  readonly due: HeadLine<Entry> = new Line("headBefore", "headAfter");
  /** Tried and resting; the one that was tried longest ago is the first. */
  readonly resting: HeadLine<Entry> = new Line("headBefore", "headAfter");

  /** The next one for a lane. */
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
