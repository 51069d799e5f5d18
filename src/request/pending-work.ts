/** What one request still has to do, for hosts that freeze afterwards. `done` never rejects. */
export class PendingWork {
  readonly #work: Promise<unknown>[] = [];
  /** Once this is true, new work needs a new `PendingWork`. */
  isDone = false;
  readonly done = this.#end();

  /** The first work is included in the turn that makes this object. */
  include(work: Promise<unknown>): void {
    this.#work.push(work);
  }

  async #end(): Promise<void> {
    await null;
    while (this.#work.length > 0) await Promise.allSettled(this.#work.splice(0));
    this.isDone = true;
  }
}
