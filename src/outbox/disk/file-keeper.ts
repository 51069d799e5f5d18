import { type OpenFile, openFile, setAside } from "./file.js";
import { createOwnerLocks } from "./owner-locks.js";
import type { Notice, ThreadOptions } from "./protocol.js";
import { salvage } from "./salvage.js";
import { kindOf, loadEngine } from "./sqlite.js";
import { createStore, type Outcome, type Store } from "./store.js";

/** What a transaction came to, and what went wrong with the file and was dealt with since the last one. */
export type Kept = Omit<Outcome, "unreadable" | "logBytes"> & { readonly notices: readonly Notice[] };

/** The outbox's file, kept open. */
export interface FileKeeper {
  /** Throws what SQLite and the file system throw; then the file is opened anew at the next attempt. */
  attempt(task: (store: Store) => Outcome): Kept;
  /** Whether the last attempt left the file open. */
  readonly isOpen: boolean;
  /** Saves what a file holds that was deleted a moment ago, and closes. */
  close(): void;
}

/** Opens the outbox's file when it is needed, and opens it anew, with what can be saved, where it was damaged, deleted or replaced. */
export function createFileKeeper(options: Omit<ThreadOptions, "signals">, owner: string): FileKeeper {
  const { path, engine } = options;
  const locks = createOwnerLocks(path, { engine, owner });
  let open: (OpenFile & { readonly store: Store }) | undefined;
  /** Files that are not at their place any more, and what is to be said of them, until what they hold is saved. */
  const lost: (Pick<OpenFile, "db" | "close"> & Notice)[] = [];
  /** What was not told yet. */
  let notices: Notice[] = [];
  let isLogTold = false;

  function attempt(task: (store: Store) => Outcome): Kept {
    try {
      const { unreadable, logBytes, ...outcome } = withoutDamage(task);
      if (logBytes !== undefined) tellLog(logBytes);
      for (const id of unreadable) {
        notices.push({
          code: "ERR_AFFILIATE_DISK_DAMAGED",
          message: `diskOutbox: an event in ${path} cannot be read, and is not sent; it is in the table "unreadable": id ${id}`,
        });
      }
      const untold = notices;
      notices = [];
      return { ...outcome, notices: untold };
    } catch (error) {
      // A connection whose disk failed may not see that the disk works again.
      letGo();
      throw error;
    }
  }

  /** Once, until the log is short again. */
  function tellLog(bytes: number): void {
    if (bytes > 0 && !isLogTold) {
      notices.push({
        code: "ERR_AFFILIATE_DISK_LOG",
        message: `diskOutbox: ${path}-wal has grown to ${Math.round(bytes / 2 ** 20)} MiB, because another connection reads the file and does not end; find it (fuser ${path}) and end it`,
      });
    }
    isLogTold = bytes > 0;
  }

  /** Where the file is damaged, sets it aside and begins a new one: it cannot be written, and what comes now must be. */
  function withoutDamage(task: (store: Store) => Outcome): Outcome {
    try {
      return task(current().store);
    } catch (error) {
      if (kindOf(error) !== "damaged") throw error;
      const isMine = open?.isCurrent() ?? true;
      letGo();
      // Another process may have been faster.
      if (isMine) replaceDamaged();
      return task(current().store);
    }
  }

  function replaceDamaged(): void {
    const place = setAside(path);
    const db = loadEngine(options.engine).open(place);
    lost.push({
      db,
      close: () => db.close(),
      code: "ERR_AFFILIATE_DISK_DAMAGED",
      message: `diskOutbox: ${path} was damaged; it is now ${place}, and what could be read of it is in a new one`,
    });
  }

  function current(): { readonly store: Store } {
    if (open && !open.isCurrent()) lose(open);
    if (!open) {
      const file = openFile(path, options);
      locks.hold();
      open = { ...file, store: createStore(file.db, owner, { ...options, locks }) };
    }
    for (let file = lost[0]; file; file = lost[0]) {
      const { events, deadLetters } = salvage(file.db, open.store);
      lost.shift();
      closeQuietly(file);
      const { code, message } = file;
      notices.push({ code, message: `${message}: events ${events}, dead letters ${deadLetters}` });
    }
    return open;
  }

  /** Keeps a file open that is not at its place any more: what it holds can still be read. */
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

  /** A file that was deleted a moment ago is gone with this thread. */
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
