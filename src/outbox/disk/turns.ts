import { OutboxError } from "../../shared/errors.js";
import { setImmediate } from "../../shared/real-timers.js";
import type { FileKeeper, KeptOutcome } from "./file-keeper.js";
import { problemOf } from "./problems.js";
import type { Batch, Done, Failed, Request, Result, Results } from "./protocol.js";

/** A request of the thread itself. */
interface Question {
  readonly request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** Runs all requests of one tick of the thread's event loop in one transaction, with one fsync. */
export interface Turns {
  /** Takes a batch of the host's. Each gets a reply, in order. After a failure, batches already sent get no reply. */
  take(batch: Batch): void;
  /** Takes a request of the thread itself. Rejects with an OutboxError. */
  ask<R extends Request>(request: R): Promise<Results[R["type"]]>;
  /** Stores at once all that has come so far, and takes nothing more. Claims nothing. */
  end(): void;
}

export function createTurns(parts: {
  readonly path: string;
  readonly keeper: Pick<FileKeeper, "attempt">;
  /** Called after each transaction; `results` are those of a batch. */
  readonly onDone: (kept: Omit<KeptOutcome, "results"> & Pick<Done, "results">) => void;
  readonly onFailed: (failed: Failed) => void;
  /** Runs a task soon. What the thread asks until then joins the same transaction. */
  readonly soon: (task: () => void) => void;
}): Turns {
  const { path, keeper, onDone, onFailed, soon } = parts;
  let batches: Batch[] = [];
  let questions: Question[] = [];
  /** The generation of the last batch that failed. The other batches of that generation are ignored. */
  let failedGeneration = -1;
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

  /** One batch at a time: a claim does not wait for many batches. */
  function turn(): void {
    const batch = batches.shift();
    const asked = questions;
    questions = [];
    if (!batch && asked.length === 0) return;
    // Settle, then append, then claim.
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
      // The host does not hear of a read alone.
      const isRead = !batch && asked.every(({ request }) => request.type === "circuits");
      if (!isRead || kept.dropped.length + kept.problems.length > 0)
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
    failedGeneration = batch.generation;
    batches = batches.filter(({ generation }) => generation !== failedGeneration);
    onFailed({ type: "failed", generation: failedGeneration, ...problem });
  }

  return {
    take(batch) {
      if (hasEnded || batch.generation === failedGeneration) return;
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
