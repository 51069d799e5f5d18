import { systemClock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import { type OpenFile, openFile, setAside } from "../file/file.js";
import { createOwnerLocks } from "../file/owner-locks.js";
import { failureOf, loadEngine, type Problem, problemOf } from "../file/sqlite.js";
import { createStore, type Store, type StoreOptions, type TransactionOutcome } from "../queue/store.js";
import { createTakeIn } from "../spool/take-in.js";

/** A task runs in one transaction. */
export type Task = (store: Store) => TransactionOutcome;

/** `problems`: those with the file that were solved since the last transaction. */
export type KeptOutcome = Omit<TransactionOutcome, "unreadable" | "logBytes" | "problems"> & {
  readonly problems: readonly Problem[];
};

export type FileKeeper = ReturnType<typeof createFileKeeper>;

/** Opens the file when needed. If it was damaged or lost, saves what it can into a new one. */
export function createFileKeeper(
  options: StoreOptions & { readonly path: string; readonly engine: string; readonly owner: string },
) {
  const { path, engine, owner } = options;
  const locks = createOwnerLocks(path, { engine, owner });
  let open: (OpenFile & { readonly store: Store }) | undefined;
  /** Files no longer at the path, each with its problem to report, until their content is saved. */
  const lost: (Pick<OpenFile, "db"> & Problem)[] = [];
  /** Problems that were not reported yet. */
  const problems: Problem[] = [];
  let isLogTold = false;

  function attempt(task: Task): KeptOutcome {
    try {
      const { unreadable, logBytes, problems: found = [], ...outcome } = withoutDamage(task);
      problems.push(...found);
      if (logBytes !== undefined) tellLog(logBytes);
      for (const id of unreadable) {
        problems.push({
          code: "ERR_AFFILIATE_DISK_DAMAGED",
          message: `diskOutbox: an event in ${path} cannot be read, and is not sent; it is in the table "unreadable": id ${id}`,
        });
      }
      return { ...outcome, problems: problems.splice(0) };
    } catch (error) {
      // A connection may not see that a failed disk works again.
      letGo();
      throw problemOf(error, path);
    }
  }

  /** Reports a long log once, until it is short again. */
  function tellLog(bytes: number): void {
    if (bytes > 0 && !isLogTold) {
      problems.push({
        code: "ERR_AFFILIATE_DISK_LOG",
        message: `diskOutbox: ${path}-wal has grown to ${Math.round(bytes / 2 ** 20)} MiB, because another connection reads the file and does not end; find it (fuser ${path}) and end it`,
      });
    }
    isLogTold = bytes > 0;
  }

  /** If the file is damaged, sets it aside and begins a new one, to store new events. */
  function withoutDamage(task: Task): TransactionOutcome {
    try {
      return task(current().store);
    } catch (error) {
      if (failureOf(error) !== "damaged") throw error;
      const isMine = open?.isCurrent() ?? true;
      letGo();
      // Another process may have been faster.
      if (isMine) replaceDamaged();
      return task(current().store);
    }
  }

  function replaceDamaged(): void {
    const aside = setAside(path);
    lost.push({
      db: loadEngine(engine).open(aside),
      code: "ERR_AFFILIATE_DISK_DAMAGED",
      message: `diskOutbox: ${path} was damaged; it is now ${aside}, and what could be read of it is in a new one`,
    });
  }

  function current(): { readonly store: Store } {
    if (open && !open.isCurrent()) lose(open);
    if (!open) {
      const file = openFile(path, options);
      locks.acquire();
      open = { ...file, store: createStore(file.db, owner, { ...options, locks }) };
    }
    for (let file = lost[0]; file; file = lost[0]) {
      const { db, code, message } = file;
      const { events, deadLetters } = open.store.salvage(db);
      lost.shift();
      harmless(() => db.close());
      problems.push({ code, message: `${message}: events ${events}, dead letters ${deadLetters}` });
    }
    return open;
  }

  /** Keeps it open: it can still be read. */
  function lose({ db, removeLog }: OpenFile): void {
    open = undefined;
    lost.push({
      db,
      code: "ERR_AFFILIATE_DISK_REPLACED",
      message: `diskOutbox: ${path} was deleted or replaced while it was in use; what was in it is in the file that is there now`,
    });
    removeLog();
  }

  /** Of a file that was deleted a moment ago, nothing is left once this thread ends. */
  function saveAtTheEnd(): void {
    if (open && (lost.length > 0 || !open.isCurrent())) current();
  }

  function letGo(): void {
    if (!open) return;
    if (harmless(open.isCurrent) === false) lose(open);
    else harmless(open.close);
    open = undefined;
  }

  return {
    /** If the task fails, throws an OutboxError, and the next attempt opens the file anew. */
    attempt,
    takeIn: createTakeIn(path, locks.isGone, systemClock),
    get isOpen(): boolean {
      return open !== undefined;
    },
    /** Saves a file that was deleted a moment ago, and closes. */
    close(): void {
      harmless(saveAtTheEnd);
      letGo();
      locks.release();
    },
  };
}
