/** The ids of the events that an outbox holds, and of the last `size` of those that it is done with. */
export class KnownIds {
  readonly #size: number;
  readonly #known = new Set<string>();
  readonly #done: string[] = [];
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  add(id: string): void {
    this.#known.add(id);
  }

  /** The outbox is done with it: it stays known until `size` others are done with, too. */
  retire(id: string): void {
    const oldest = this.#done[this.#next];
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#done[this.#next] = id;
    this.#next = (this.#next + 1) % this.#size;
  }

  /** As if it had never come. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}
