import { OutboxError } from "../../shared/errors.js";
import { setImmediate } from "../../shared/real-timers.js";
import type { FileKeeper, Kept } from "./file-keeper.js";
import { problemOf } from "./problems.js";
import type { Batch, Done, Failed, Request, Result, Results } from "./protocol.js";

/** What was asked in the thread itself. */
interface Question {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** Gathers what is asked of the file in one turn of the thread's event loop: it goes into one transaction, and is on the disk by one fsync. */
export interface Turns {
  /** Takes a batch of the host's. There is a reply to each, in order; but for those that were sent before one of them failed. */
  take(batch: Batch): void;
  /** Asks for the thread itself. Rejects with an OutboxError. */
  ask<R extends Request>(request: R): Promise<Results[R["type"]]>;
  /** Stores what has come so far here and now, and nothing after it. Claims nothing any more. */
  end(): void;
}

export function createTurns(parts: {
  readonly path: string;
  readonly keeper: Pick<FileKeeper, "attempt">;
  /** Hears of each transaction; with `results`, of a batch. */
  readonly onDone: (kept: Omit<Kept, "results"> & Pick<Done, "results">) => void;
  readonly onFailed: (failed: Failed) => void;
  /** Runs a task soon: what is asked in the thread itself until then goes into the same transaction. */
  readonly soon: (task: () => void) => void;
}): Turns {
  const { path, keeper, onDone, onFailed, soon } = parts;
  let batches: Batch[] = [];
  let questions: Question[] = [];
  /** What was sent before one of it failed, and is not looked at any more. */
  let refused = -1;
  let isScheduled = false;
  let hasEnded = false;

  function schedule(): void {
    if (isScheduled || hasEnded || batches.length + questions.length === 0) return;
    isScheduled = true;
    const run = batches.length > 0 ? setImmediate : soon;
    run(() => {
      isScheduled = false;
      turn();
      schedule();
    });
  }

  /** One batch at a time: what is to be sent does not wait for many that come. */
  function turn(): void {
    const batch = batches.shift();
    const asked = questions;
    questions = [];
    if (!batch && asked.length === 0) return;
    // What ends gives way to what comes, and both may be what goes next.
    const isClaim = ({ request }: Question) => request.type === "claim";
    const first = asked.filter((each) => !isClaim(each));
    const last = hasEnded ? [] : asked.filter(isClaim);
    const requests = [
      ...first.map(({ request }) => request),
      ...(batch?.requests ?? []),
      ...last.map(({ request }) => request),
    ];
    try {
      const { results, ...kept } = keeper.attempt((store) => store.run(requests));
      const end = results.length - last.length;
      onDone({ ...kept, ...(batch && { results: results.slice(first.length, end) }) });
      for (const [nth, { resolve }] of first.entries()) resolve(results[nth] as Result);
      for (const [nth, { resolve }] of last.entries()) resolve(results[end + nth] as Result);
    } catch (error) {
      fail(error, [...first, ...last], batch);
    }
  }

  function fail(error: unknown, asked: readonly Question[], batch: Batch | undefined): void {
    const problem = problemOf(error, path);
    for (const { reject } of asked) reject(new OutboxError(problem.code, problem.message));
    if (!batch) return;
    refused = batch.generation;
    batches = batches.filter(({ generation }) => generation !== refused);
    onFailed({ type: "failed", generation: refused, ...problem });
  }

  return {
    take(batch) {
      if (hasEnded || batch.generation === refused) return;
      batches.push(batch);
      schedule();
    },
    ask(request) {
      return new Promise((resolve, reject) => {
        questions.push({ request, resolve: resolve as (result: Result) => void, reject });
        schedule();
      });
    },
    end() {
      hasEnded = true;
      while (batches.length + questions.length > 0) turn();
    },
  };
}
