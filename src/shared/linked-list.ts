/** A list's member holds its own links, so that it costs no other object. */
export type ListLinks<T, Before extends string = "before", After extends string = "after"> = {
  [Name in Before | After]: T | undefined;
};

/**
 * A doubly linked list: first in, first out; members can be removed from the middle, all in O(1).
 * A `Set` would grow in memory if objects come and go all the time: V8 links the tables that a set
 * has outgrown, with all that they referred to. An object in several lists has links of other names
 * for each.
 */
export class LinkedList<
  T extends ListLinks<T, Before, After>,
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
  append(member: T): void {
    this.#insert(this.#last, member, undefined);
  }

  /** As `append`, but at the front. */
  prepend(member: T): void {
    this.#insert(undefined, member, this.#first);
  }

  /** Only for a member of the list. */
  remove(member: T): void {
    this.#join(linksOf(member)[this.#before], linksOf(member)[this.#after]);
    // Otherwise a member in V8's old generation keeps all later ones until a full collection.
    linksOf(member)[this.#before] = undefined;
    linksOf(member)[this.#after] = undefined;
    this.#length--;
  }

  /** The member that was given last may be removed meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (let member = this.#first, next: T | undefined; member; member = next) {
      next = linksOf(member)[this.#after];
      yield member;
    }
  }

  #insert(before: T | undefined, member: T, after: T | undefined): void {
    this.#join(before, member);
    this.#join(member, after);
    this.#length++;
  }

  /** Without one of them, the other is the first or the last. */
  #join(before: T | undefined, after: T | undefined): void {
    if (before) linksOf(before)[this.#after] = after;
    else this.#first = after;
    if (after) linksOf(after)[this.#before] = before;
    else this.#last = before;
  }
}

/** Typed by the names of its links. */
function linksOf<T>(member: T): Record<string, T | undefined> {
  return member as Record<string, T | undefined>;
}
