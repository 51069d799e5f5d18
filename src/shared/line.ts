/** A member of a list: it holds its own links, so that it costs no other object. */
export type InLine<T, Before extends string = "before", After extends string = "after"> = {
  [Name in Before | After]: T | undefined;
};

/**
 * A doubly linked list: first in, first out, and members can leave from the middle, in O(1) at any length. A `Set` would grow in memory
 * where objects come and go all the time: V8 links the tables that a set has outgrown, with all that they referred to.
 *
 * An object that is in several lists at a time has links of other names for each: the constructor takes their names.
 */
export class Line<
  T extends InLine<T, Before, After>,
  Before extends string = "before",
  After extends string = "after",
> {
  readonly #before: Before;
  readonly #after: After;
  #first: T | undefined;
  #last: T | undefined;
  #length = 0;

  constructor(before = "before" as Before, after = "after" as After) {
    this.#before = before;
    this.#after = after;
  }

  get length(): number {
    return this.#length;
  }

  get first(): T | undefined {
    return this.#first;
  }

  get last(): T | undefined {
    return this.#last;
  }

  /** A member is in one list with these links at a time. */
  join(member: T): void {
    const last = this.#last;
    this.#link(member, last, undefined);
    if (last) linksOf(last)[this.#after] = member;
    else this.#first = member;
    this.#last = member;
    this.#length++;
  }

  /** As `join`, but at the front. */
  rejoin(member: T): void {
    const first = this.#first;
    this.#link(member, undefined, first);
    if (first) linksOf(first)[this.#before] = member;
    else this.#last = member;
    this.#first = member;
    this.#length++;
  }

  /** Only for a member of the list. */
  leave(member: T): void {
    const { [this.#before]: before, [this.#after]: after } = linksOf(member);
    if (before) linksOf(before)[this.#after] = after;
    else this.#first = after;
    if (after) linksOf(after)[this.#before] = before;
    else this.#last = before;
    // Otherwise a member in V8's old generation would keep all later members in memory until a full garbage collection.
    this.#link(member, undefined, undefined);
    this.#length--;
  }

  /** The first `limit` members, which stay in the list. */
  peek(limit: number): T[] {
    const members: T[] = [];
    for (const each of this) {
      if (members.length >= limit) break;
      members.push(each);
    }
    return members;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let each = this.#first; each; each = linksOf(each)[this.#after]) yield each;
  }

  #link(member: T, before: T | undefined, after: T | undefined): void {
    const links = linksOf(member);
    links[this.#before] = before;
    links[this.#after] = after;
  }
}

/** The same object, typed by the names of its links. */
function linksOf<T>(member: T): Record<string, T | undefined> {
  return member as Record<string, T | undefined>;
}
