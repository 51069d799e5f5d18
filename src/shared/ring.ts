/** The last `size` values that were put in. Each replaces the oldest. */
export class Ring<T> {
  readonly #values: T[] = [];
  readonly #size: number;
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** @returns the oldest value, which was removed, or `undefined` while the ring is not full. */
  replaceOldest(value: T): T | undefined {
    const oldest = this.#values[this.#next];
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % this.#size;
    return oldest;
  }
}
