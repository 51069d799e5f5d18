import type { EventKind } from "../../conversion/events.js";
import { byKind, isMoreUrgent, KINDS } from "../../conversion/kinds.js";
import { byEndpoint } from "../../service/endpoints.js";
import { LinkedList } from "../../shared/linked-list.js";
import type { Capacity, Lane } from "../claim.js";
import { claimStepsOf } from "../claim-steps.js";
import { earliestOf, type QueuedOfKind } from "../counts.js";
import type { Entry } from "./entry.js";
import { VisitorQueues } from "./visitor-queues.js";

/**
 * The heads of visitors' queues that have one endpoint and one urgency. Untried ones are in the
 * order in which they became heads or got this urgency, the others by when they were tried.
 */
type Heads = Record<NonNullable<Entry["which"]>, LinkedList<Entry, "headBefore", "headAfter">>;

const newHeads = (): Heads => ({
  untried: new LinkedList("headBefore", "headAfter"),
  rested: new LinkedList("headBefore", "headAfter"),
  resting: new LinkedList("headBefore", "headAfter"),
});

/** Live events, and the heads of visitors' queues. No operation costs more if many wait. */
export class Queue {
  /** In the order in which they came. */
  readonly #live = byKind(() => new LinkedList<Entry>());
  /** In the order in which they got their urgency. */
  readonly #byUrgency = byKind(
    () => new LinkedList<Entry, "urgencyBefore", "urgencyAfter">("urgencyBefore", "urgencyAfter"),
  );
  readonly #heads = byKind(() => byEndpoint(newHeads));
  readonly #visitors = new VisitorQueues<Entry>();
  readonly #onClaimable: () => void;

  /** Calls `onClaimable` when an event may have become ready. */
  constructor(onClaimable: () => void) {
    this.#onClaimable = onClaimable;
  }

  get length(): number {
    return KINDS.reduce((sum, kind) => sum + this.#live[kind].length, 0);
  }

  /** When the oldest happened, in milliseconds since the epoch; `null` if there is none. */
  get oldest(): number | null {
    return earliestOf(Object.values(this.#live).map(({ first }) => first?.event.createdAt ?? null));
  }

  get byKind(): Record<EventKind, QueuedOfKind> {
    return byKind((kind) => {
      const { length, first } = this.#live[kind];
      return { queued: length, oldest: first?.event.createdAt ?? null };
    });
  }

  /** The visitor's earlier events inherit its priority. */
  enqueue(entry: Entry, now: number): void {
    const isFirst = this.#visitors.enqueue(entry, entry.event.data);
    if (!isFirst) this.#propagateUrgency(entry, now);
    this.#live[entry.event.kind].append(entry);
    this.#byUrgency[entry.urgency].append(entry);
    if (isFirst) this.#addHead(entry, "untried");
  }

  remove(entry: Entry, now: number): void {
    this.#live[entry.event.kind].remove(entry);
    this.#byUrgency[entry.urgency].remove(entry);
    this.#removeHead(entry);
    for (const next of this.#visitors.remove(entry, entry.event.data)) {
      next.since = now;
      this.#addHead(next, "untried");
    }
  }

  /** They are under way from now on. */
  claim({ limit, lanes }: Capacity, now: number): Entry[] {
    const claimed: Entry[] = [];
    for (const { place, urgency, which } of claimStepsOf(lanes)) {
      const { lane } = place;
      const heads = this.#heads[urgency][lane.endpoint][which];
      for (; claimed.length < limit && place.left > 0; place.left--) {
        const entry = which === "untried" ? nextUntried(heads, lane, now) : heads.first;
        if (!entry) break;
        this.#removeHead(entry);
        entry.lane = lane;
        claimed.push(entry);
      }
    }
    return claimed;
  }

  /** It was claimed and not tried. */
  release(entry: Entry): void {
    if (entry.history.triedAt > 0) this.#addHead(entry, "rested");
    else this.#addHead(entry, "untried", !entry.lane.newestFirst);
  }

  /** It was tried and rests; its visitor's later events wait. */
  rest(entry: Entry): void {
    this.#addHead(entry, "resting");
  }

  requeue(entry: Entry): void {
    this.#removeHead(entry);
    this.#addHead(entry, "rested");
  }

  /** Events that are not under way, in the order in which they got this urgency. */
  *unclaimed(urgency: EventKind): Generator<Entry> {
    for (const entry of this.#byUrgency[urgency]) if (!entry.underWay) yield entry;
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const list of Object.values(this.#live)) yield* list;
  }

  /**
   * Makes all events that this one waits for, directly or through others, inherit its priority.
   * With three priorities, each event rises twice at most.
   */
  #propagateUrgency(later: Entry, now: number): void {
    const { urgency } = later;
    const chain = [later];
    for (const { clickBefore, sessionBefore } of chain) {
      for (const before of [clickBefore, sessionBefore]) {
        if (!before || !isMoreUrgent(urgency, before.urgency)) continue;
        this.#raiseUrgency(before, urgency, now);
        chain.push(before);
      }
    }
  }

  #raiseUrgency(entry: Entry, urgency: EventKind, now: number): void {
    const { which } = entry;
    this.#removeHead(entry);
    this.#byUrgency[entry.urgency].remove(entry);
    entry.urgency = urgency;
    entry.since = now;
    this.#byUrgency[urgency].append(entry);
    if (which) this.#addHead(entry, which);
  }

  #addHead(entry: Entry, which: keyof Heads, atFront = false): void {
    const list = this.#heads[entry.urgency][entry.endpoint][which];
    entry.which = which;
    if (atFront) list.prepend(entry);
    else list.append(entry);
    if (which !== "resting") this.#onClaimable();
  }

  #removeHead(entry: Entry): void {
    if (entry.which) this.#heads[entry.urgency][entry.endpoint][entry.which].remove(entry);
    entry.which = undefined;
  }
}

function nextUntried(
  heads: Heads["untried"],
  { newestFirst, newWithinMs = Number.POSITIVE_INFINITY }: Lane,
  now: number,
): Entry | undefined {
  const next = newestFirst ? heads.last : heads.first;
  return next && now - next.since <= newWithinMs ? next : undefined;
}
