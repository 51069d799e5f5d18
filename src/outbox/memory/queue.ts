import type { EventKind } from "../../events.js";
import { byKind } from "../../kinds.js";
import { ENDPOINTS, type Endpoint } from "../../service/endpoints.js";
import { Line } from "../../shared/line.js";
import { claimStepsOf } from "../claim-steps.js";
import type { Capacity, Lane, QueuedOfKind } from "../outbox.js";
import { isMoreUrgent, type Urgency } from "../urgency.js";
import type { Entry } from "./entry.js";
import { Heads } from "./heads.js";
import { VisitorOrder } from "./visitor-order.js";

/** The live events in memory, and the heads of visitors' queues. Each operation costs the same however many wait. */
export class Queue {
  /** In the order in which they came. */
  readonly #alive = byKind(() => new Line<Entry>());
  /** In the order in which they got their urgency. */
  readonly #equals = byKind(() => new Line<Entry, "equalBefore", "equalAfter">("equalBefore", "equalAfter"));
  readonly #heads = byKind(
    () =>
      Object.fromEntries(ENDPOINTS.map((name) => [name, new Heads<Entry>()])) as Record<
        Endpoint,
        Heads<Entry>
      >,
  );
  readonly #order = new VisitorOrder<Entry>();
  readonly #onClaimable: () => void;

  /** @param onClaimable called when an event may have become ready. */
  constructor(onClaimable: () => void) {
    this.#onClaimable = onClaimable;
  }

  get length(): number {
    const { click, registration, payment } = this.#alive;
    return click.length + registration.length + payment.length;
  }

  /** When the oldest of them happened, in milliseconds since the epoch; `null` where there is none. */
  get oldest(): number | null {
    const firsts = Object.values(this.#alive).map(
      ({ first }) => first?.event.createdAt ?? Number.POSITIVE_INFINITY,
    );
    const oldest = Math.min(...firsts);
    return Number.isFinite(oldest) ? oldest : null;
  }

  get byKind(): Record<EventKind, QueuedOfKind> {
    return byKind((kind) => {
      const { length, first } = this.#alive[kind];
      return { queued: length, oldest: first?.event.createdAt ?? null };
    });
  }

  /** Adds an event behind its visitor's earlier ones, which become as urgent as it is. */
  join(entry: Entry, now: number): void {
    const isFirst = this.#order.enter(entry, entry.event.data);
    if (!isFirst) this.#lend(entry, now);
    this.#alive[entry.event.kind].join(entry);
    this.#equals[entry.urgency].join(entry);
    if (isFirst) this.#enterHeadLine(entry, "first");
  }

  leave(entry: Entry, now: number): void {
    this.#alive[entry.event.kind].leave(entry);
    this.#equals[entry.urgency].leave(entry);
    this.#leaveHeadLine(entry);
    for (const next of this.#order.leave(entry, entry.event.data)) {
      next.since = now;
      this.#enterHeadLine(next, "later");
    }
  }

  /** Claims ready events, as the lanes allow. They are under way from now on. */
  claim({ limit, lanes }: Capacity, now: number): Entry[] {
    const claimed: Entry[] = [];
    for (const { place, urgency, which } of claimStepsOf(lanes)) {
      const { lane } = place;
      const heads = this.#heads[urgency][lane.endpoint];
      for (; claimed.length < limit && place.left > 0; place.left--) {
        const entry = heads.next(which, lane, now);
        if (!entry) break;
        claimed.push(this.#take(entry, lane));
      }
    }
    return claimed;
  }

  /** The event was claimed and not tried. */
  release(entry: Entry): void {
    if (entry.history.triedAt > 0) this.#enterHeadLine(entry, "due");
    else
      this.#enterHeadLine(entry, entry.since === entry.queuedAt ? "first" : "later", !entry.lane.newestFirst);
  }

  /** The event was tried and rests; its visitor's later events wait. */
  rest(entry: Entry): void {
    this.#enterHeadLine(entry, "resting");
  }

  requeue(entry: Entry): void {
    this.#leaveHeadLine(entry);
    this.#enterHeadLine(entry, "due");
  }

  /** Events of one urgency that are not under way, in the order in which they got it. */
  *idle(urgency: Urgency): Generator<Entry> {
    for (const entry of this.#equals[urgency]) if (!entry.underWay) yield entry;
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const line of Object.values(this.#alive)) yield* line;
  }

  /** Raises all events that this one waits for, directly or through others. Each event rises twice at most. */
  #lend(lender: Entry, now: number): void {
    const { urgency } = lender;
    const lenders = [lender];
    for (const { clickBefore, sessionBefore } of lenders) {
      for (const before of [clickBefore, sessionBefore]) {
        if (!before || !isMoreUrgent(urgency, before.urgency)) continue;
        this.#raise(before, urgency, now);
        lenders.push(before);
      }
    }
  }

  #raise(entry: Entry, urgency: Urgency, now: number): void {
    const { due, resting } = this.#heads[entry.urgency][entry.endpoint];
    const { headLine: turn } = entry;
    this.#leaveHeadLine(entry);
    this.#equals[entry.urgency].leave(entry);
    entry.urgency = urgency;
    entry.since = now;
    this.#equals[urgency].join(entry);
    if (turn) this.#enterHeadLine(entry, turn === resting ? "resting" : turn === due ? "due" : "later");
  }

  #take(entry: Entry, lane: Lane): Entry {
    this.#leaveHeadLine(entry);
    entry.lane = lane;
    return entry;
  }

  #enterHeadLine(entry: Entry, name: "first" | "later" | "due" | "resting", atFront = false): void {
    const line = this.#heads[entry.urgency][entry.endpoint][name];
    entry.headLine = line;
    if (atFront) line.rejoin(entry);
    else line.join(entry);
    if (name !== "resting") this.#onClaimable();
  }

  #leaveHeadLine(entry: Entry): void {
    entry.headLine?.leave(entry);
    entry.headLine = undefined;
  }
}
