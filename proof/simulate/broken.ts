/** A promise that was not kept. */
export class Broken extends Error {
  readonly promise: string;

  constructor(promise: string, details: string) {
    super(`${promise}: ${details}`);
    this.promise = promise;
  }
}
