/** The work that one request still has to do, as one promise that never rejects. For hosts that freeze a process after the response. */
export class PendingWork {
  readonly done: Promise<void>;
  #resolve: () => void = () => {};
  #open = 0;
  #isDone = false;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Once this is true, new work needs a new `PendingWork`. */
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
