import { systemClock } from "../../shared/clock.js";
import { type OpenFile, openFile, setAside } from "./file.js";
import { createOwnerLocks } from "./owner-locks.js";
import type { Problem, ThreadOptions } from "./protocol.js";
import { salvage } from "./salvage.js";
import { failureOf, loadEngine } from "./sqlite.js";
import { createStore, type Store, type TransactionOutcome } from "./store.js";
import { createTakeIn, type TakeIn } from "./take-in.js";

/** The outcome of a transaction, and the problems with the file that were solved since the last one. */
export type KeptOutcome = Omit<TransactionOutcome, "unreadable" | "logBytes" | "problems"> & {
  readonly problems: readonly Problem[];
};

/** The outbox's file, kept open. */
export interface FileKeeper {
  /** What processes that are gone have left beside the file. */
  readonly takeIn: TakeIn;
  /** Throws what SQLite and the file system throw; then the file is opened anew at the next attempt. */
  attempt(task: (store: Store) => TransactionOutcome): KeptOutcome;
  /** Whether the last attempt left the file open. */
  readonly isOpen: boolean;
  /** Saves what a file holds that was deleted a moment ago, and closes. */
  close(): void;
}

/** Opens the outbox's file when it is needed, and opens it anew, with what can be saved, where it was damaged, deleted or replaced. */
export function createFileKeeper(options: Omit<ThreadOptions, "signals">): FileKeeper {
  const { path, engine, owner } = options;
  const locks = createOwnerLocks(path, { engine, owner });
  let open: (OpenFile & { readonly store: Store }) | undefined;
  /** Files that are no longer at the path, with the problem to report, until their content is saved. */
  const lost: (Pick<OpenFile, "db" | "close"> & Problem)[] = [];
  /** Problems that were not reported yet. */
  let problems: Problem[] = [];
  let isLogTold = false;

  function attempt(task: (store: Store) => TransactionOutcome): KeptOutcome {
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
      const untold = problems;
      problems = [];
      return { ...outcome, problems: untold };
    } catch (error) {
      // A connection whose disk failed may not see that the disk works again.
      letGo();
      throw error;
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

  /** Sets a damaged file aside and begins a new one, so that new events can be stored. */
  function withoutDamage(task: (store: Store) => TransactionOutcome): TransactionOutcome {
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
    const db = loadEngine(options.engine).open(aside);
    lost.push({
      db,
      close: () => db.close(),
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
      const { events, deadLetters } = salvage(file.db, open.store);
      lost.shift();
      closeQuietly(file);
      const { code, message } = file;
      problems.push({ code, message: `${message}: events ${events}, dead letters ${deadLetters}` });
    }
    return open;
  }

  /** Keeps a file open that is no longer at the path: it can still be read. */
  function lose({ db, close: closeFile, removeLog }: OpenFile): void {
    open = undefined;
    lost.push({
      db,
      close: closeFile,
      code: "ERR_AFFILIATE_DISK_REPLACED",
      message: `diskOutbox: ${path} was deleted or replaced while it was in use; what was in it is in the file that is there now`,
    });
    removeLog();
  }

  /** Saves a file that was deleted a moment ago: once this thread ends, it is gone. */
  function saveAtTheEnd(): void {
    try {
      if (open && (lost.length > 0 || !open.isCurrent())) current();
    } catch {
      // What is left cannot be saved.
    }
  }

  function letGo(): void {
    if (!open) return;
    let isCurrent = true;
    try {
      isCurrent = open.isCurrent();
    } catch {
      // Nothing can be read there.
    }
    if (isCurrent) {
      closeQuietly(open);
      open = undefined;
    } else lose(open);
  }

  function closeQuietly(file: Pick<OpenFile, "close">): void {
    try {
      file.close();
    } catch {
      // It is of no use any more either way.
    }
  }

  return {
    attempt,
    takeIn: createTakeIn(path, locks.isGone, systemClock),
    get isOpen() {
      return open !== undefined;
    },
    close() {
      saveAtTheEnd();
      letGo();
      locks.release();
    },
  };
}
