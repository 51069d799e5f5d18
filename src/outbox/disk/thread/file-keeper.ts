import { systemClock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import { Scope } from "../../queue/scope.js";
import { type OpenFile, openFile, setAside } from "../file/file.js";
import { createOwnerLocks } from "../file/owner-locks.js";
import { failureOf, type Problem, problemOf } from "../file/sqlite.js";
import { createTakeIn } from "../spool/take-in.js";
import type { DiskClaim } from "../store/requests.js";
import { createStore, type Store, type StoreOptions, type TransactionOutcome } from "../store/store.js";

/** A task runs in one transaction. */
export type Task = (store: Store) => Promise<TransactionOutcome>;

/** `problems`: those with the file that were solved since the last transaction. */
export type KeptOutcome = Omit<TransactionOutcome, "logBytes" | "problems"> & {
  readonly problems: readonly Problem[];
};

/** Opens the file when needed. If it was lost, copies what it has into a new one. */
export function createFileKeeper(
  options: StoreOptions & {
    readonly path: string;
    readonly engine: string;
    readonly owner: string;
    readonly inherited?: readonly DiskClaim[] | undefined;
    readonly clientId?: number | undefined;
  },
) {
  const { path, engine, owner } = options;
  const locks = createOwnerLocks(path, { engine, owner });
  const scope = new Scope(options.clientId);
  const store = createStore(owner, { ...options, locks, scope });
  let open: OpenFile | undefined;
  /** Files that were deleted or replaced, until what they have is copied. */
  const lost: OpenFile["db"][] = [];
  /** Problems that were not reported yet. */
  const problems: Problem[] = [];
  let isLogTold = false;

  async function attempt(task: Task): Promise<KeptOutcome> {
    try {
      const { logBytes, problems: found = [], ...outcome } = await withoutDamage(task);
      problems.push(...found);
      if (logBytes !== undefined) tellLog(logBytes);
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
  async function withoutDamage(task: Task): Promise<TransactionOutcome> {
    try {
      return await task(await current());
    } catch (error) {
      if (failureOf(error) !== "damaged") throw error;
      const isMine = open?.isCurrent() ?? true;
      // A lost file that cannot be copied.
      for (const db of lost.splice(0)) harmless(() => db.close());
      letGo();
      // Another process may have been faster.
      if (isMine) replaceDamaged();
      return task(await current());
    }
  }

  function replaceDamaged(): void {
    const aside = setAside(path);
    problems.push({
      code: "ERR_AFFILIATE_DISK_DAMAGED",
      message: `diskOutbox: ${path} was damaged; it is now ${aside}, and what is in it is not sent`,
    });
  }

  async function current(): Promise<Store> {
    if (open && !open.isCurrent()) lose(open);
    if (!open) {
      const file = openFile(path, options);
      locks.acquire();
      store.use(file.db);
      open = file;
    }
    for (let db = lost[0]; db; db = lost[0]) {
      await store.copyFrom(db);
      lost.shift();
      harmless(() => db?.close());
      problems.push({
        code: "ERR_AFFILIATE_DISK_REPLACED",
        message: `diskOutbox: ${path} was deleted or replaced while it was in use; what was in it is in the file that is there now`,
      });
    }
    return store;
  }

  /** Keeps it open: it can still be read. */
  function lose({ db, removeLog }: OpenFile): void {
    open = undefined;
    lost.push(db);
    removeLog();
  }

  /** Of a file that was deleted a moment ago, nothing is left once this thread ends. */
  async function saveAtTheEnd(): Promise<void> {
    if (open && (lost.length > 0 || !open.isCurrent())) await current();
  }

  function letGo(): void {
    if (!open) return;
    if (harmless(open.isCurrent) === false) lose(open);
    else harmless(open.close);
    open = undefined;
  }

  return {
    /** If the task fails, rejects with an OutboxError, and the next attempt opens the file anew. */
    attempt,
    bind(clientId: number): void {
      scope.clientId = clientId;
    },
    takeIn: createTakeIn(path, locks.isGone, systemClock),
    get isOpen(): boolean {
      return open !== undefined;
    },
    /** Saves a file that was deleted a moment ago, and closes. */
    async close(): Promise<void> {
      await saveAtTheEnd().catch(() => {});
      letGo();
      locks.release();
    },
  };
}
