/** A member of a list: it holds its own links, so that it costs no other object. */
export interface InLine<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * A doubly linked list: first in, first out, and members can leave from the middle, in O(1) at any length. Where objects come and
 * go all the time, it is what a `Set` is not: V8 links the tables that a set has outgrown, and what they held piles up.
 */
export class Line<T extends InLine<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): T | undefined {
    return this.#first;
  }

  get last(): T | undefined {
    return this.#last;
  }

  /** A member is in one list at a time. */
  join(member: T): void {
    member.before = this.#last;
    member.after = undefined;
    if (this.#last) this.#last.after = member;
    else this.#first = member;
    this.#last = member;
    this.#length++;
  }

  /** As `join`, but at the front. */
  rejoin(member: T): void {
    member.before = undefined;
    member.after = this.#first;
    if (this.#first) this.#first.before = member;
    else this.#last = member;
    this.#first = member;
    this.#length++;
  }

  /** A member that leaves has joined, and not left since. */
  leave(member: T): void {
    if (member.before) member.before.after = member.after;
    else this.#first = member.after;
    if (member.after) member.after.before = member.before;
    else this.#last = member.before;
    // Otherwise a member that has grown old in memory would keep all that came after it until a full garbage collection.
    member.before = undefined;
    member.after = undefined;
    this.#length--;
  }

  /** The first `limit` members, which stay in the list. */
  peek(limit: number): T[] {
    const members: T[] = [];
    for (let each = this.#first; each && members.length < limit; each = each.after) members.push(each);
    return members;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let each = this.#first; each; each = each.after) yield each;
  }
}
