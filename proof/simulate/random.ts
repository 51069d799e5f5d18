/** A number from 0 up to 1 that depends on these words alone: the same in a shortened schedule. */
export function chance(...words: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const word of words) {
    const text = `${word} `;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Numbers from 0 up to 1, in an order that depends on the seed. */
export function numbersFrom(seed: string | number): () => number {
  let number = 0;
  return () => chance("number", seed, number++);
}

/** Draws for a generator of schedules. */
export class Dice {
  readonly #next: () => number;

  constructor(seed: string | number) {
    this.#next = numbersFrom(seed);
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  happens(share: number): boolean {
    return this.#next() < share;
  }

  one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#next() * of.length)] as T;
  }

  /** Many small ones, few large ones. */
  span(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.#next());
  }
}
