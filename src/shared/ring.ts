/** The last `size` values. */
export class Ring<T> {
  readonly #values: T[] = [];
  readonly #size: number;
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** @returns the value that left, or `undefined` while the ring is not full. */
  replaceOldest(value: T): T | undefined {
    const oldest = this.#values[this.#next];
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % this.#size;
    return oldest;
  }
}
