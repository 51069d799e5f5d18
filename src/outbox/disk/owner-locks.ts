import { closeSync, fstatSync, openSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { statIfThere } from "./access.js";
import { type Database, failureOf, loadEngine } from "./sqlite.js";

const SUFFIX = ".owner-";

export type OwnerLocks = ReturnType<typeof createOwnerLocks>;

/**
 * A lock for each process that uses the file. The operating system drops it when the process ends, however it ends, and other
 * processes see that at once, from other containers too. Each lock is on a small SQLite file beside the outbox's.
 *
 * @param owner this process.
 */
export function createOwnerLocks(path: string, { engine, owner }: { engine: string; owner: string }) {
  let own: { readonly db: Database; readonly ino: number } | undefined;
  const lockPathOf = (other: string) => `${path}${SUFFIX}${other}`;

  /** Returns the lock; `undefined` where another process has it. */
  function lock(path: string): Database | undefined {
    const db = loadEngine(engine).open(path);
    try {
      // Nothing is written: no journal beside it.
      db.exec("pragma journal_mode = memory");
      db.exec("begin exclusive");
      return db;
    } catch (error) {
      db.close();
      if (failureOf(error) === "busy") return undefined;
      throw error;
    }
  }

  function acquire(): void {
    const lockPath = lockPathOf(owner);
    if (own && statIfThere(lockPath)?.ino === own.ino) return;
    release();
    // Closed before it is locked: closing it later would drop this process's own lock.
    const file = openSync(lockPath, "w", 0o600);
    const { ino } = fstatSync(file);
    closeSync(file);
    const db = lock(lockPath);
    if (db) own = { db, ino };
  }

  function release(): void {
    if (!own) return;
    rmSync(lockPathOf(owner), { force: true });
    own.db.close();
    own = undefined;
  }

  function hasEnded(other: string): boolean {
    const lockPath = lockPathOf(other);
    if (other === owner || !statIfThere(lockPath)) return false;
    const taken = lock(lockPath);
    taken?.close();
    return taken !== undefined;
  }

  function others(): string[] {
    const prefix = basename(path) + SUFFIX;
    const names = readdirSync(dirname(path)).filter((name) => name.startsWith(prefix));
    return names.map((name) => name.slice(prefix.length)).filter((other) => other !== owner);
  }

  return {
    /** Takes this process's lock, unless it has it. Without one, other processes go by its heartbeats alone. */
    acquire: () => quietly(acquire),
    release: () => quietly(release),
    /** Whether another process is known to have ended. `false` where its lock is not there. */
    hasEnded: (other: string): boolean => quietly(() => hasEnded(other)) ?? false,
    /** The same, and `true` if its lock is not there: it has removed it as it ended, or could not take it. */
    isGone: (other: string): boolean =>
      quietly(() => other !== owner && (!statIfThere(lockPathOf(other)) || hasEnded(other))) ?? false,
    /** Removes the locks of ended processes that own no claims. */
    removeEnded(owners: readonly string[]): void {
      quietly(() => {
        for (const other of others()) {
          if (!owners.includes(other) && hasEnded(other)) rmSync(lockPathOf(other), { force: true });
        }
      });
    },
    /** How many other processes use the file at this moment. */
    running: (): number => quietly(() => others().filter((other) => !hasEnded(other)).length) ?? 0,
  };
}

/** What goes wrong with a lock stops no delivery. */
function quietly<T>(task: () => T): T | undefined {
  try {
    return task();
  } catch {
    return undefined;
  }
}
