/** A place in a line; whoever holds it can step out. */
export interface Spot<T> {
  readonly member: T;
  before: Spot<T> | undefined;
  after: Spot<T> | undefined;
}

/** First in, first out, and one can step out of the middle: a linked list, O(1) at any length. */
export class Line<T> {
  #first: Spot<T> | undefined;
  #last: Spot<T> | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): T | undefined {
    return this.#first?.member;
  }

  join(member: T): Spot<T> {
    const spot: Spot<T> = { member, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = spot;
    else this.#first = spot;
    this.#last = spot;
    this.#length++;
    return spot;
  }

  /** A spot is left once. */
  leave(spot: Spot<T>): void {
    if (spot.before) spot.before.after = spot.after;
    else this.#first = spot.after;
    if (spot.after) spot.after.before = spot.before;
    else this.#last = spot.before;
    this.#length--;
  }

  /** The first `limit` of them, who stay where they are. */
  peek(limit: number): T[] {
    const members: T[] = [];
    for (let spot = this.#first; spot && members.length < limit; spot = spot.after) members.push(spot.member);
    return members;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let spot = this.#first; spot; spot = spot.after) yield spot.member;
  }
}
