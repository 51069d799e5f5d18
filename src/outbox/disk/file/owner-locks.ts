import { closeSync, fstatSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { harmless } from "../../../shared/harmless.js";
import { type Database, failureOf, loadEngine, whenFree } from "./sqlite.js";

const SUFFIX = ".owner-";
// The thread before this one may still be ending.
const PATIENCE_MS = 1_000;

/**
 * A lock for each process that uses the file, on a small SQLite file beside the outbox's. When the
 * process ends, however it ends, the operating system drops it. Other processes see that at once,
 * from other containers too. A problem with a lock stops no delivery.
 */
export function createOwnerLocks(path: string, { engine, owner }: { engine: string; owner: string }) {
  let own: { readonly db: Database; readonly ino: number } | undefined;
  const lockPathOf = (other: string) => `${path}${SUFFIX}${other}`;
  const lockFileOf = (other: string) => statSync(lockPathOf(other), { throwIfNoEntry: false });

  /** Returns the lock; `undefined` if another process has it. */
  function lock(path: string, patienceMs = 0): Database | undefined {
    const db = loadEngine(engine).open(path);
    try {
      // Nothing is written, so it needs no journal beside it.
      db.exec("pragma journal_mode = memory");
      whenFree(() => db.exec("begin exclusive"), patienceMs);
      return db;
    } catch (error) {
      db.close();
      if (failureOf(error) === "busy") return undefined;
      throw error;
    }
  }

  function acquire(): void {
    if (own && lockFileOf(owner)?.ino === own.ino) return;
    release();
    const lockPath = lockPathOf(owner);
    // Closes it before locking it: closing it later would drop this process's own lock.
    const file = openSync(lockPath, "w", 0o600);
    const { ino } = fstatSync(file);
    closeSync(file);
    const db = lock(lockPath, PATIENCE_MS);
    if (!db) return;
    own = { db, ino };
    // Another process may have taken this one for ended before it had the lock, and removed the file.
    acquire();
  }

  function release(): void {
    if (!own) return;
    drop(own.db, lockPathOf(owner));
    own = undefined;
  }

  /** Removes its file while no process can take the lock. Windows removes no open file. */
  function drop(taken: Database, path: string): void {
    const remove = () => rmSync(path, { force: true });
    let isLeft = false;
    harmless(remove, () => {
      isLeft = true;
    });
    taken.close();
    if (isLeft) harmless(remove);
  }

  function hasEnded(other: string, end = (taken: Database, _path: string) => taken.close()): boolean {
    if (other === owner || !lockFileOf(other)) return false;
    const path = lockPathOf(other);
    const taken = lock(path);
    if (taken) end(taken, path);
    return taken !== undefined;
  }

  function others(): string[] {
    const prefix = basename(path) + SUFFIX;
    const names = readdirSync(dirname(path)).filter((name) => name.startsWith(prefix));
    return names.map((name) => name.slice(prefix.length)).filter((other) => other !== owner);
  }

  return {
    /** Without this lock, other processes judge by this one's heartbeats alone. */
    acquire: () => harmless(acquire),
    release: () => harmless(release),
    /** Whether it is known to have ended: `false` if its lock file is missing. */
    hasEnded: (other: string): boolean => harmless(() => hasEnded(other)) ?? false,
    /** The same, but `true` if its lock file is missing: it ended, or could not take the lock. */
    isGone: (other: string): boolean =>
      harmless(() => other !== owner && (!lockFileOf(other) || hasEnded(other))) ?? false,
    /** Removes the locks of ended processes that own no claims. */
    removeEnded(owners: readonly string[]): void {
      harmless(() => {
        for (const other of others()) {
          if (!owners.includes(other)) hasEnded(other, drop);
        }
      });
    },
    /** How many other processes use the file now. */
    running: (): number => harmless(() => others().filter((other) => !hasEnded(other)).length) ?? 0,
  };
}
