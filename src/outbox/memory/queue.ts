import type { EventKind } from "../../events.js";
import { ENDPOINTS, type Endpoint } from "../../service/endpoints.js";
import { Line } from "../../shared/line.js";
import { claimStepsOf } from "../claim-steps.js";
import type { Capacity, Lane, QueuedOfKind } from "../outbox.js";
import { isMoreUrgent, type Urgency } from "../urgency.js";
import type { Entry } from "./entry.js";
import { Heads } from "./heads.js";
import { VisitorOrder } from "./visitor-order.js";

/** Events in memory, and whose turn it is. Each step costs the same however many wait. */
export class Queue {
  /** In the order in which they came. */
  readonly #alive = byUrgency(() => new Line<Entry>());
  /** In the order in which they became as urgent as they are. */
  readonly #equals = byUrgency(
    () => new Line<Entry, "equalBefore", "equalAfter">("equalBefore", "equalAfter"),
  );
  readonly #heads = byUrgency(
    () =>
      Object.fromEntries(ENDPOINTS.map((name) => [name, new Heads<Entry>()])) as Record<
        Endpoint,
        Heads<Entry>
      >,
  );
  readonly #order = new VisitorOrder<Entry>();
  readonly #onTurn: () => void;

  /** @param onTurn hears that there may be something to claim. */
  constructor(onTurn: () => void) {
    this.#onTurn = onTurn;
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
    const { click, registration, payment } = this.#alive;
    const of = ({ length, first }: Line<Entry>) => ({
      queued: length,
      oldest: first?.event.createdAt ?? null,
    });
    return { click: of(click), registration: of(registration), payment: of(payment) };
  }

  /** Takes its place behind its visitor's earlier events, which are as urgent as it is from here on. */
  join(entry: Entry, now: number): void {
    const isFirst = this.#order.enter(entry, entry.event.data);
    if (!isFirst) this.#lend(entry, now);
    this.#alive[entry.event.kind].join(entry);
    this.#equals[entry.urgency].join(entry);
    if (isFirst) this.#place(entry, "first");
  }

  /** Takes it out, wherever it is. */
  leave(entry: Entry, now: number): void {
    this.#alive[entry.event.kind].leave(entry);
    this.#equals[entry.urgency].leave(entry);
    this.#displace(entry);
    for (const next of this.#order.leave(entry, entry.event.data)) {
      next.since = now;
      this.#place(next, "later");
    }
  }

  /** Those whose turn it is, as the lanes allow. They are under way from here on. */
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

  /** It is under way no more, and was not tried. */
  release(entry: Entry): void {
    if (entry.history.triedAt > 0) this.#place(entry, "due");
    else this.#place(entry, entry.since === entry.queuedAt ? "first" : "later", !entry.lane.newestFirst);
  }

  /** It was tried, and holds back its visitor's later events until its turn comes again. */
  rest(entry: Entry): void {
    this.#place(entry, "resting");
  }

  /** It has rested. */
  requeue(entry: Entry): void {
    this.#displace(entry);
    this.#place(entry, "due");
  }

  /** Equally urgent ones that are not under way, those that became so first at the front; few are, however many wait. */
  *idle(urgency: Urgency): Generator<Entry> {
    for (const entry of this.#equals[urgency]) if (!entry.underWay) yield entry;
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const line of Object.values(this.#alive)) yield* line;
  }

  /** What it waits for, directly or through others, becomes as urgent as it is. Each event rises twice at most. */
  #lend(lender: Entry, now: number): void {
    const { urgency } = lender;
    const lenders = [lender];
    for (const { clickBefore, sessionBefore } of lenders) {
      for (const before of [clickBefore, sessionBefore]) {
        if (!before || !isMoreUrgent(urgency, before.urgency)) continue;
        this.#rise(before, urgency, now);
        lenders.push(before);
      }
    }
  }

  #rise(entry: Entry, urgency: Urgency, now: number): void {
    const { due, resting } = this.#heads[entry.urgency][entry.endpoint];
    const { turn } = entry;
    this.#displace(entry);
    this.#equals[entry.urgency].leave(entry);
    entry.urgency = urgency;
    entry.since = now;
    this.#equals[urgency].join(entry);
    if (turn) this.#place(entry, turn === resting ? "resting" : turn === due ? "due" : "later");
  }

  #take(entry: Entry, lane: Lane): Entry {
    this.#displace(entry);
    entry.lane = lane;
    return entry;
  }

  #place(entry: Entry, name: "first" | "later" | "due" | "resting", atFront = false): void {
    const line = this.#heads[entry.urgency][entry.endpoint][name];
    entry.turn = line;
    if (atFront) line.rejoin(entry);
    else line.join(entry);
    if (name !== "resting") this.#onTurn();
  }

  #displace(entry: Entry): void {
    entry.turn?.leave(entry);
    entry.turn = undefined;
  }
}

function byUrgency<T>(create: () => T): Record<Urgency, T> {
  return { click: create(), registration: create(), payment: create() };
}
