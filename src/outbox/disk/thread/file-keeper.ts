import { systemClock } from "../../../shared/clock.js";
import { harmless } from "../../../shared/harmless.js";
import { Scope } from "../../queue/database.js";
import { type OpenFile, openFile, setAside } from "../file/file.js";
import { createOwnerLocks } from "../file/owner-locks.js";
import { failureOf, type Problem, problemOf } from "../file/sqlite.js";
import { createTakeIn } from "../spool/take-in.js";
import { createStore, type Store, type StoreOptions, type TransactionOutcome } from "../store/store.js";
import type { ThreadOptions } from "./protocol.js";

/** A task runs in one transaction. */
export type Task = (store: Store) => Promise<TransactionOutcome>;

/** Whether SQLite can read all of it. */
function isSound(db: OpenFile["db"]): boolean {
  return harmless(() => db.prepare("pragma quick_check(1)").get().quick_check) === "ok";
}

/** Opens the file when needed. If it was lost, copies what it has into a new one. */
export function createFileKeeper(
  options: StoreOptions & Pick<ThreadOptions, "path" | "engine" | "owner" | "clientId">,
) {
  const { path, engine, owner } = options;
  const locks = createOwnerLocks(path, { engine, owner });
  const scope = new Scope(options.clientId);
  const store = createStore(owner, { ...options, locks, scope });
  let open: OpenFile | undefined;
  /** How many claims this process would leave if it ended now. */
  let claims = options.inherited?.length ?? 0;
  /** Files that were deleted or replaced, until what they have is copied. */
  const lost: OpenFile["db"][] = [];
  /** Problems that were solved, and not reported yet. */
  const problems: Problem[] = [];

  async function attempt(task: Task): Promise<TransactionOutcome> {
    try {
      const outcome = await withoutDamage(task);
      claims = outcome.leases.size;
      return { ...outcome, problems: [...problems.splice(0), ...outcome.problems] };
    } catch (error) {
      // A connection may not see that a failed disk works again.
      letGo();
      throw problemOf(error, path);
    }
  }

  /** If the file is damaged, sets it aside and begins a new one, to store new events. */
  async function withoutDamage(task: Task): Promise<TransactionOutcome> {
    try {
      return await task(await current());
    } catch (error) {
      if (failureOf(error) !== "damaged") throw error;
      // If it failed while a lost file was copied, that one may be damaged, or the one that is there.
      const [copied] = open ? lost : [];
      const isOfCopied = copied !== undefined && !isSound(copied);
      const isMine = !isOfCopied && (open?.isCurrent() ?? true);
      const notSent = (words: string): Problem => ({
        code: "ERR_AFFILIATE_DISK_DAMAGED",
        message: `diskOutbox: ${path} was ${words} is not sent`,
      });
      if (isOfCopied) {
        lost.shift();
        harmless(() => copied.close());
        problems.push(notSent("replaced or deleted, and damaged: what was in it"));
      }
      letGo();
      // Another process may have been faster.
      if (isMine) problems.push(notSent(`damaged; it is now ${setAside(path)}, and what is in it`));
      return task(await current());
    }
  }

  async function current(): Promise<Store> {
    if (open && !open.isCurrent()) lose(open);
    if (!open) {
      const file = openFile(path, options);
      locks.acquire();
      store.use(file);
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
    takeIn: createTakeIn(path, locks, systemClock),
    /** Saves a file that was deleted a moment ago, and closes. */
    async close(): Promise<void> {
      // Of such a file, nothing is left once this thread ends.
      if (lost.length > 0 || (open && !open.isCurrent())) await current().catch(() => {});
      letGo();
      locks.release(claims > 0);
    },
  };
}
