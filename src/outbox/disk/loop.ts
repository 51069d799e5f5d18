import type { Clock } from "../../shared/clock.js";
import { OutboxError } from "../../shared/errors.js";
import { setImmediate } from "../../shared/real-timers.js";
import type { Verdict } from "../outbox.js";
import { StorageState } from "../storage-state.js";
import type { FileKeeper, KeptOutcome } from "./file-keeper.js";
import { problemOf } from "./problems.js";
import {
  type Batch,
  type DiskClaim,
  type Done,
  type Failed,
  type Question,
  type Request,
  type Result,
  type Results,
  type Snapshot,
  settling,
} from "./protocol.js";
import { createSending, type Sender } from "./sending.js";
import type { Store, TransactionOutcome } from "./store.js";

/** What the host hears of a transaction. `results` answer the host's batch. */
export type Kept = Omit<KeptOutcome, "results"> & Pick<Done, "results">;

/**
 * The loop works in passes. A pass settles, appends and claims in one transaction, with one flush at most. Then it sends the claimed
 * events.
 *
 * @param parts.onNews called when claims and verdicts begin to fail, when they work again, and after a pass that had nothing to do.
 */
export function createLoop(parts: {
  readonly path: string;
  readonly leaseMs: number;
  readonly keeper: Pick<FileKeeper, "attempt">;
  readonly clock: Clock;
  readonly onDone: (kept: Kept) => void;
  readonly onFailed: (failed: Failed) => void;
  readonly onNews: () => void;
}) {
  const { path, leaseMs, keeper, clock, onDone, onFailed, onNews } = parts;
  let batches: Batch[] = [];
  const questions: Question[] = [];
  /** The generation of the last batch that failed. The other batches of that generation are ignored. */
  let failedGeneration = -1;
  let snapshot: Snapshot | undefined;
  let next: { readonly at: number; cancel(): void } | undefined;
  let hasEnded = false;
  /** Whether it is time to try a file that fails. Until then, verdicts wait; the host's batches do not. */
  let isTrial = false;
  const file = new StorageState({
    clock,
    observer: { degraded: onNews, recovered: onNews },
    attempt() {
      isTrial = true;
      begin();
    },
  });
  const sending = createSending({
    leaseMs,
    clock,
    snapshot: () => snapshot,
    // While the file fails, nothing is sent: a more urgent event may be in it.
    isWell: () => file.problem === undefined,
    onVerdict: begin,
  });

  /** Schedules the next pass: at the end of this tick for a batch, a question, or to try a failing file; else after `gatherMs`. */
  function begin(): void {
    if (hasEnded) return;
    const isAwaited = batches.length + questions.length > 0 || isTrial;
    const inMs = isAwaited ? 0 : sending.gatherMs;
    const at = inMs === 0 ? 0 : clock.monotonic() + inMs;
    if (next && next.at <= at) return;
    next?.cancel();
    if (inMs > 0) next = { at, cancel: clock.after(inMs, run) };
    else {
      next = { at, cancel() {} };
      setImmediate(run);
    }
  }

  function run(): void {
    next = undefined;
    if (hasEnded) return;
    pass();
    // One batch a pass, so that a claim waits for one batch at most.
    if (batches.length > 0) begin();
  }

  function pass(): void {
    const isUsable = file.isUsable || isTrial || hasEnded;
    const wanted = isUsable ? sending.wantedClaims() : undefined;
    const verdicts = isUsable ? sending.takeVerdicts() : [];
    const asked = questions.splice(0);
    const batch = batches.shift();
    const isTried = isTrial || verdicts.length > 0 || wanted !== undefined;
    isTrial = false;
    const first = [
      ...verdicts.map(({ claim, verdict }) => settling(claim, storedAs(verdict))),
      ...asked.map(({ request }) => request),
    ];
    const last: Request[] = wanted ? [{ type: "claim", capacity: wanted }] : [];
    const requests = [...first, ...(batch?.requests ?? []), ...last];
    if (requests.length === 0) {
      // There is nothing to try the file with: the next claim shows whether it works.
      if (isTried) file.isUsableAgain();
      // The host was told that a pass is due. Tell it that the loop is idle again.
      onNews();
      return;
    }
    let outcome: KeptOutcome;
    try {
      outcome = keeper.attempt((store) => store.run(requests));
    } catch (error) {
      sending.keepVerdicts(verdicts);
      fail(error, { isTried, asked, batch });
      return;
    }
    const { results, ...kept } = outcome;
    if (isTried) noteSuccess();
    ({ snapshot } = kept);
    if (snapshot.hasChanged && sending.hasStarted) {
      sending.noteChange();
      // A slot may be free for an event that is now ready. Do not wait for an attempt to end.
      begin();
    }
    // The host does not hear of a pass that has only read circuits.
    const isRead = !batch && !wanted && first.every(({ type }) => type === "circuits");
    if (!isRead || kept.dropped.length + kept.problems.length > 0)
      onDone({
        ...kept,
        ...(batch && { results: results.slice(first.length, requests.length - last.length) }),
      });
    for (const [nth, each] of verdicts.entries()) if (results[nth] !== false) sending.tellSettled(each);
    for (const [nth, { resolve }] of asked.entries()) resolve(results[verdicts.length + nth] as Result);
    if (wanted) sending.sendClaimed(results.at(-1) as readonly DiskClaim[], wanted);
  }

  function fail(
    error: unknown,
    { isTried, asked, batch }: { isTried: boolean; asked: readonly Question[]; batch: Batch | undefined },
  ): void {
    const problem = problemOf(error, path);
    const cause = new OutboxError(problem.code, problem.message);
    if (isTried && file.isUsable) file.fails("settle", cause);
    else if (isTried) file.staysUnusable(cause);
    for (const { reject } of asked) reject(cause);
    if (!batch) return;
    failedGeneration = batch.generation;
    batches = batches.filter(({ generation }) => generation !== failedGeneration);
    onFailed({ type: "failed", generation: failedGeneration, ...problem });
  }

  function noteSuccess(): void {
    if (!file.isUsable) file.isUsableAgain();
    file.works("settle");
  }

  /** An event may have become deliverable. */
  function wake(): void {
    if (!sending.hasStarted) return;
    sending.wake();
    begin();
  }

  return {
    wake,
    /** Takes a batch of the host's. Each gets a reply, in order. After a failure, batches already sent get no reply. */
    take(batch: Batch): void {
      if (hasEnded || batch.generation === failedGeneration) return;
      batches.push(batch);
      sending.noteChange();
      begin();
    },
    /** Makes a request of delivery's, in the next pass. Rejects with an OutboxError. */
    ask<R extends Request>(request: R): Promise<Results[R["type"]]> {
      return new Promise((resolve, reject) => {
        questions.push({ request, resolve: resolve as Question["resolve"], reject });
        begin();
      });
    },
    /** Runs another task on the file, in a transaction of its own. Throws what SQLite and the file system throw. */
    attempt(task: (store: Store) => TransactionOutcome): void {
      const { results: _, ...kept } = keeper.attempt(task);
      ({ snapshot } = kept);
      onDone(kept);
      wake();
    },
    /** Begins to send. */
    start(by: Sender): void {
      sending.start(by);
      wake();
    },
    /** Whether no attempt is under way, and no event that waits can be sent now. */
    get idle(): boolean {
      return sending.underWay + questions.length === 0 && !sending.hasVerdicts && !next;
    },
    /** Why claims and verdicts fail; `undefined` while the file works. */
    get problem() {
      return file.problem as OutboxError | undefined;
    },
    /** Claims nothing more, and releases the prefetched events. Resolves once no attempt is under way. */
    stop(): Promise<void> {
      const stopped = sending.stop();
      begin();
      return stopped;
    },
    /** Stores at once all that has come so far, and takes nothing more. Drops the verdicts if the file fails. */
    end(): void {
      hasEnded = true;
      file.end();
      next?.cancel();
      void sending.stop();
      do pass();
      while (batches.length + questions.length > 0);
    },
  };
}

/** Stored as delivered; listeners hear `skipped`. */
function storedAs(verdict: Verdict): Verdict {
  return verdict.type === "skipped" ? { type: "delivered" } : verdict;
}
