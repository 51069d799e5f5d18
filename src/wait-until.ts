/** All that one request still has to do, as one promise that never rejects: for hosts that freeze what nobody waits for. */
export class RequestWork {
  readonly done: Promise<void>;
  #resolve: () => void = () => {};
  #open = 0;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  include(work: Promise<unknown>): void {
    this.#open++;
    const end = () => {
      if (--this.#open === 0) this.#resolve();
    };
    work.then(end, end);
  }
}
