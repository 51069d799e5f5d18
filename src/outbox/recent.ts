/** Remembers at least the last `size` ids, and no more than twice as many: two generations, the older of which is dropped whole. */
export class RecentIds {
  readonly #size: number;
  #young = new Set<string>();
  #old = new Set<string>();

  constructor(size: number) {
    this.#size = size;
  }

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  add(id: string): void {
    if (this.#young.size >= this.#size) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}
