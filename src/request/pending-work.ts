/** All that one request still has to do, as one promise that never rejects: for hosts that freeze what nobody waits for. */
export class RequestWork {
  readonly done: Promise<void>;
  #resolve: () => void = () => {};
  #open = 0;
  #isDone = false;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Whoever has more to do now needs a new one. */
  get isDone(): boolean {
    return this.#isDone;
  }

  include(work: Promise<unknown>): void {
    this.#open++;
    const end = () => {
      if (--this.#open > 0) return;
      this.#isDone = true;
      this.#resolve();
    };
    work.then(end, end);
  }
}
