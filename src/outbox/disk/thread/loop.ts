import type { Clock } from "../../../shared/clock.js";
import type { OutboxError } from "../../../shared/errors.js";
import { setImmediate } from "../../../shared/real-timers.js";
import type { Verdict } from "../../claim.js";
import { StorageState } from "../../storage-state.js";
import {
  type Ask,
  type DiskClaim,
  type Request,
  type Result,
  type Snapshot,
  settling,
} from "../queue/requests.js";
import type { FileKeeper, KeptOutcome, Task } from "./file-keeper.js";
import type { Batch, Done, Failed, Question } from "./protocol.js";
import { createSending, type Sender } from "./sending.js";

/** What the host gets of a transaction. `results` answer its batch. */
export type Kept = Omit<KeptOutcome, "results"> & Pick<Done, "results">;

/**
 * The loop works in passes. A pass settles, appends and claims in one transaction, with one flush
 * at most. Then it sends the claimed events. Calls `onNews` when claims and verdicts begin to fail,
 * when they work again, and after a pass that had nothing to do.
 */
export function createLoop(parts: {
  readonly leaseMs: number;
  readonly keeper: Pick<FileKeeper, "attempt">;
  readonly clock: Clock;
  readonly onDone: (kept: Kept) => void;
  readonly onFailed: (failed: Failed) => void;
  readonly onNews: () => void;
}) {
  const { leaseMs, keeper, clock, onDone, onFailed, onNews } = parts;
  let batches: Batch[] = [];
  const questions: Question[] = [];
  /** The generation of the last batch that failed. Its other batches are ignored. */
  let failedGeneration = -1;
  let snapshot: Snapshot | undefined;
  let next: { readonly at: number; cancel(): void } | undefined;
  let hasEnded = false;
  /** Whether to try a file that fails. Until then, verdicts wait, and the host's batches do not. */
  let triesFile = false;
  const file = new StorageState({
    clock,
    observer: { degraded: onNews, recovered: onNews },
    attempt() {
      triesFile = true;
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

  /**
   * The next pass is at the end of this tick for a batch, a question or a failing file's next try;
   * otherwise after `gatherMs`.
   */
  function begin(): void {
    if (hasEnded) return;
    const isAwaited = batches.length + questions.length > 0 || triesFile;
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
    // One batch a pass: then a claim waits for one at most.
    if (batches.length > 0) begin();
  }

  function pass(): void {
    const isUsable = file.isUsable || triesFile || hasEnded;
    const wanted = isUsable ? sending.wantedClaims() : undefined;
    const verdicts = isUsable ? sending.takeVerdicts() : [];
    const asked = questions.splice(0);
    const batch = batches.shift();
    const isTried = triesFile || verdicts.length > 0 || wanted !== undefined;
    triesFile = false;
    const first = [
      ...verdicts.map(({ claim, verdict }) => settling(claim, storedAs(verdict))),
      ...asked.map(({ request }) => request),
    ];
    const last: Request[] = wanted ? [{ type: "claim", capacity: wanted }] : [];
    const requests = [...first, ...(batch?.requests ?? []), ...last];
    if (requests.length === 0) {
      // Only the next claim can show whether the file works.
      if (isTried) file.isUsableAgain();
      // The host was told that a pass is due: report that the loop is idle again.
      onNews();
      return;
    }
    let outcome: KeptOutcome;
    try {
      outcome = keeper.attempt((store) => store.run(requests));
    } catch (error) {
      sending.keepVerdicts(verdicts);
      fail(error as OutboxError, { isTried, asked, batch });
      return;
    }
    const { results, ...kept } = outcome;
    if (isTried && !file.isUsable) file.isUsableAgain();
    if (isTried) file.works("settle");
    ({ snapshot } = kept);
    if (snapshot.hasChanged && sending.hasStarted) {
      sending.noteChange();
      // A slot may be free for what is now ready. Do not wait for an attempt to end.
      begin();
    }
    // A pass that only read circuits is not reported.
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
    cause: OutboxError,
    { isTried, asked, batch }: { isTried: boolean; asked: readonly Question[]; batch: Batch | undefined },
  ): void {
    if (isTried && file.isUsable) file.fails("settle", cause);
    else if (isTried) file.staysUnusable(cause);
    for (const { reject } of asked) reject(cause);
    if (!batch) return;
    failedGeneration = batch.generation;
    batches = batches.filter(({ generation }) => generation !== failedGeneration);
    const { code, message } = cause;
    onFailed({ type: "failed", generation: failedGeneration, code, message });
  }

  function wake(): void {
    if (!sending.hasStarted) return;
    sending.wake();
    begin();
  }

  /** Delivery's own request, in the next pass. Rejects with an OutboxError. */
  const ask: Ask = (request) =>
    new Promise((resolve, reject) => {
      questions.push({ request, resolve: resolve as Question["resolve"], reject });
      begin();
    });

  return {
    wake,
    /** Each batch gets a reply, in order. After a failure, those already sent get none. */
    take(batch: Batch): void {
      if (hasEnded || batch.generation === failedGeneration) return;
      batches.push(batch);
      sending.noteChange();
      begin();
    },
    ask,
    /** Runs another task, in a transaction of its own. Throws an OutboxError. */
    attempt(task: Task): void {
      const { results: _, ...kept } = keeper.attempt(task);
      ({ snapshot } = kept);
      onDone(kept);
      wake();
    },
    start(by: Sender): void {
      sending.start(by);
      wake();
    },
    /** Whether no attempt is under way, and no event that waits can be sent now. */
    get idle(): boolean {
      return sending.underWay + questions.length === 0 && !sending.hasVerdicts && !next;
    },
    /** Why claims and verdicts fail, if they do. */
    get problem() {
      return file.problem as OutboxError | undefined;
    },
    /** Claims no more, and releases prefetched events. Resolves once no attempt is under way. */
    stop(): Promise<void> {
      const stopped = sending.stop();
      begin();
      return stopped;
    },
    /** Stores at once what has come, and takes no more. If the file fails, drops the verdicts. */
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

/** Stored as delivered; listeners get `skipped`. */
function storedAs(verdict: Verdict): Verdict {
  return verdict.type === "skipped" ? { type: "delivered" } : verdict;
}
