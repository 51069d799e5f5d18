import type { EventKind } from "../events.js";
import { type InLine, Line } from "./line.js";
import { type LiveEvent, SHEDDING_ORDER } from "./outbox.js";
import { type Place, VisitorOrder } from "./visitors.js";

/** What waits in a queue, or is under way: the queue writes its places into it. */
export interface Queued<Entry> extends Place, LiveEvent, InLine<Entry> {
  turn: Turn<Entry> | undefined;
  underWay: boolean;
}

/** An entry's place among those that have not lined up yet, or among those that are ready. */
interface Turn<Entry> extends InLine<Turn<Entry>> {
  readonly entry: Entry;
  readonly line: Line<Turn<Entry>>;
}

const LINED_UP_AT_ONCE = 1_000;

/**
 * Events in memory, and whose turn it is. They line up behind their visitors' earlier ones only when there is room for
 * them: until then they lie in the order in which they came, and cost no more than that, however many there are.
 */
export class Queue<Entry extends Queued<Entry>> {
  readonly #alive: Record<EventKind, Line<Entry>> = {
    click: new Line(),
    registration: new Line(),
    payment: new Line(),
  };
  readonly #arrived = new Line<Turn<Entry>>();
  readonly #ready = new Line<Turn<Entry>>();
  readonly #order = new VisitorOrder<Entry>();
  readonly #onTurn: () => void;

  /** @param onTurn hears that somebody's turn may have come. */
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

  join(entry: Entry): void {
    this.#alive[entry.event.kind].join(entry);
    this.#takeTurn(entry, this.#arrived);
  }

  /** Takes it out, wherever it is. */
  leave(entry: Entry): void {
    this.#alive[entry.event.kind].leave(entry);
    this.#giveUpTurn(entry);
    for (const next of this.#order.leave(entry, entry.event.data)) this.#takeTurn(next, this.#ready);
  }

  /** At most `limit` whose turn it is. They are under way from here on. */
  claim(limit: number): Entry[] {
    const claimed = this.#ready.peek(limit).map(({ entry }) => entry);
    for (const entry of claimed) this.#giveUpTurn(entry);
    claimed.push(...this.#lineUp(limit - claimed.length));
    for (const entry of claimed) entry.underWay = true;
    return claimed;
  }

  /** It is under way no more, and holds back its visitor's later events until its turn comes again. */
  rest(entry: Entry): void {
    entry.underWay = false;
  }

  /** It was claimed, and its turn has come again. */
  requeue(entry: Entry): void {
    entry.underWay = false;
    this.#takeTurn(entry, this.#ready);
  }

  /** The oldest of this kind that is not under way; few are, however many wait. */
  firstIdle(kind: EventKind): Entry | undefined {
    for (const entry of this.#alive[kind]) if (!entry.underWay) return entry;
    return undefined;
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const line of Object.values(this.#alive)) yield* line;
  }

  /** Has arrivals take their place behind their visitors' earlier events, until it is the turn of `limit` of them. Returns those. */
  #lineUp(limit: number): Entry[] {
    const next: Entry[] = [];
    for (let time = 0; this.#arrived.first && next.length < limit && time < LINED_UP_AT_ONCE; time++) {
      const { entry } = this.#arrived.first;
      this.#giveUpTurn(entry);
      if (this.#order.enter(entry, entry.event.data)) next.push(entry);
    }
    // Many of them belong to visitors who have to wait: the host has its turn before the others are looked at.
    if (this.#arrived.first && next.length < limit) this.#onTurn();
    return next;
  }

  #takeTurn(entry: Entry, line: Line<Turn<Entry>>): void {
    entry.turn = { entry, line, before: undefined, after: undefined };
    line.join(entry.turn);
    this.#onTurn();
  }

  #giveUpTurn(entry: Entry): void {
    entry.turn?.line.leave(entry.turn);
    entry.turn = undefined;
  }
}
