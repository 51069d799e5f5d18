import type { EventKind } from "../../events.js";
import { ENDPOINTS, type Endpoint } from "../../service/endpoints.js";
import { type InLine, Line } from "../../shared/line.js";
import type { Capacity, Claim, Lane, QueuedOfKind } from "../outbox.js";
import { SHEDDING_ORDER } from "../shedding.js";
import { type Place, VisitorOrder } from "./visitor-order.js";

/** What waits in a queue, or is under way: the queue writes its places into it. */
export interface Queued<Entry> extends Place, Claim, InLine<Entry> {
  readonly endpoint: Endpoint;
  lane: Lane;
  turn: Turn<Entry> | undefined;
  underWay: boolean;
}

/** An entry's place among those that have not lined up yet, or among those that may be handed over. */
interface Turn<Entry> extends InLine<Turn<Entry>> {
  readonly entry: Entry;
  readonly line: Line<Turn<Entry>>;
  /** Since when the entry has been its visitor's next, in milliseconds since the epoch. */
  readonly since: number;
}

/** The events of one endpoint that are their visitors' next, or have not lined up yet. */
interface Heads<Entry> {
  arrived: number;
  /** Never tried, and next of their visitors since they came; and since an earlier event left. Both in order of that time. */
  readonly first: Line<Turn<Entry>>;
  readonly later: Line<Turn<Entry>>;
  /** Tried, and rested. */
  readonly due: Line<Turn<Entry>>;
  /** Tried, the one that was tried longest ago at the front. */
  readonly resting: Line<Turn<Entry>>;
}

const LINED_UP_AT_ONCE = 1_000;

/**
 * Events in memory, and whose turn it is. They line up behind their visitors' earlier ones only when there is capacity for
 * them: until then they lie in the order in which they came, and cost no more than that, however many there are.
 */
export class Queue<Entry extends Queued<Entry>> {
  readonly #alive: Record<EventKind, Line<Entry>> = {
    click: new Line(),
    registration: new Line(),
    payment: new Line(),
  };
  readonly #arrived = new Line<Turn<Entry>>();
  readonly #heads = Object.fromEntries(ENDPOINTS.map((name) => [name, headsOfNone<Entry>()])) as Record<
    Endpoint,
    Heads<Entry>
  >;
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
    const first = Math.min(
      ...SHEDDING_ORDER.map((kind) => this.#alive[kind].first?.event.createdAt ?? Number.POSITIVE_INFINITY),
    );
    return Number.isFinite(first) ? first : null;
  }

  get byKind(): Record<EventKind, QueuedOfKind> {
    const { click, registration, payment } = this.#alive;
    const of = ({ length, first }: Line<Entry>) => ({
      queued: length,
      oldest: first?.event.createdAt ?? null,
    });
    return { click: of(click), registration: of(registration), payment: of(payment) };
  }

  join(entry: Entry): void {
    this.#alive[entry.event.kind].join(entry);
    this.#heads[entry.endpoint].arrived++;
    this.#place(entry, this.#arrived, entry.queuedAt);
  }

  /** Takes it out, wherever it is. */
  leave(entry: Entry, now: number): void {
    this.#alive[entry.event.kind].leave(entry);
    this.#displace(entry);
    for (const next of this.#order.leave(entry, entry.event.data)) {
      this.#place(next, this.#heads[next.endpoint].later, now);
    }
  }

  /** Those whose turn it is, as the lanes allow. They are under way from here on. */
  claim({ limit, lanes }: Capacity, now: number): Entry[] {
    const claimed: Entry[] = [];
    for (const lane of lanes) {
      if (claimed.length >= limit) break;
      const most = claimed.length + Math.min(lane.limit, limit - claimed.length);
      const isComplete = this.#fill(claimed, most, lane, now);
      // What is less urgent waits until it is known what is more urgent.
      if (!isComplete && !lane.newestFirst) break;
    }
    return claimed;
  }

  /** It is under way no more, and was not tried. */
  release(entry: Entry): void {
    entry.underWay = false;
    const { due, first, later } = this.#heads[entry.endpoint];
    if (entry.history.triedAt > 0) this.#place(entry, due, 0);
    else if (entry.lane.newestFirst) this.#place(entry, later, entry.queuedAt);
    else this.#place(entry, first, entry.queuedAt, true);
  }

  /** It was tried, and holds back its visitor's later events until its turn comes again. */
  rest(entry: Entry): void {
    entry.underWay = false;
    this.#place(entry, this.#heads[entry.endpoint].resting, 0);
  }

  /** It has rested. */
  requeue(entry: Entry): void {
    this.#displace(entry);
    this.#place(entry, this.#heads[entry.endpoint].due, 0);
  }

  /** Those of this kind that are not under way, oldest first; few are, however many wait. */
  *idle(kind: EventKind): Generator<Entry> {
    for (const entry of this.#alive[kind]) if (!entry.underWay) yield entry;
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const line of Object.values(this.#alive)) yield* line;
  }

  /** Claims from one lane until there are `most`. Returns whether all of its events were looked at, if they had to be. */
  #fill(claimed: Entry[], most: number, lane: Lane, now: number): boolean {
    const heads = this.#heads[lane.endpoint];
    // The newest are the last to line up.
    if (lane.newestFirst && heads.arrived > 0) this.#lineUp(heads, Number.POSITIVE_INFINITY);
    this.#takeUntried(claimed, most, lane, now);
    if (claimed.length < most && heads.arrived > 0) {
      this.#lineUp(heads, most - claimed.length);
      this.#takeUntried(claimed, most, lane, now);
    }
    if (claimed.length < most && heads.arrived > 0) {
      // Many belong to visitors who have to wait: the host has its turn before the others are looked at.
      this.#onTurn();
      return false;
    }
    if (lane.newWithinMs !== undefined) return true;
    this.#takeFrom(heads.due, claimed, most, lane);
    if (lane.evenResting) this.#takeFrom(heads.resting, claimed, most, lane);
    return true;
  }

  #takeUntried(claimed: Entry[], most: number, lane: Lane, now: number): void {
    const { newestFirst, newWithinMs = Number.POSITIVE_INFINITY } = lane;
    const { first, later } = this.#heads[lane.endpoint];
    while (claimed.length < most) {
      const turn = newestFirst ? newer(first.last, later.last) : older(first.first, later.first);
      if (!turn || now - turn.since > newWithinMs) return;
      claimed.push(this.#take(turn.entry, lane));
    }
  }

  #takeFrom(line: Line<Turn<Entry>>, claimed: Entry[], most: number, lane: Lane): void {
    while (claimed.length < most && line.first) claimed.push(this.#take(line.first.entry, lane));
  }

  #take(entry: Entry, lane: Lane): Entry {
    this.#displace(entry);
    entry.lane = lane;
    entry.underWay = true;
    return entry;
  }

  /** Has arrivals take their place behind their visitors' earlier events, until `enough` of these are their visitors' next. */
  #lineUp(heads: Heads<Entry>, enough: number): void {
    let found = 0;
    for (let time = 0; this.#arrived.first && found < enough && time < LINED_UP_AT_ONCE; time++) {
      const { entry } = this.#arrived.first;
      const own = this.#heads[entry.endpoint];
      this.#displace(entry);
      if (!this.#order.enter(entry, entry.event.data)) continue;
      this.#place(entry, own.first, entry.queuedAt);
      if (own === heads) found++;
    }
  }

  #place(entry: Entry, line: Line<Turn<Entry>>, since: number, atFront = false): void {
    entry.turn = { entry, line, since, before: undefined, after: undefined };
    if (atFront) line.rejoin(entry.turn);
    else line.join(entry.turn);
    if (line !== this.#heads[entry.endpoint].resting) this.#onTurn();
  }

  #displace(entry: Entry): void {
    if (entry.turn?.line === this.#arrived) this.#heads[entry.endpoint].arrived--;
    entry.turn?.line.leave(entry.turn);
    entry.turn = undefined;
  }
}

function headsOfNone<Entry>(): Heads<Entry> {
  return { arrived: 0, first: new Line(), later: new Line(), due: new Line(), resting: new Line() };
}

function older<T extends { since: number }>(one: T | undefined, other: T | undefined): T | undefined {
  return one && other ? (other.since < one.since ? other : one) : (one ?? other);
}

function newer<T extends { since: number }>(one: T | undefined, other: T | undefined): T | undefined {
  return one && other ? (one.since > other.since ? one : other) : (one ?? other);
}
