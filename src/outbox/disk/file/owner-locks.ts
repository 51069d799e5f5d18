import { closeSync, fstatSync, openSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { harmless } from "../../../shared/harmless.js";
import { MOST_TRIES, statIfThere } from "./access.js";
import { type Database, failureOf, openDatabase, whenFree } from "./sqlite.js";

const SUFFIX = ".owner-";
// The thread before this one may still be ending.
const PATIENCE_MS = 1_000;

export type OwnerLocks = ReturnType<typeof createOwnerLocks>;

/**
 * A lock for each process that uses the file, on a small SQLite file beside the outbox's. When the
 * process ends, however it ends, the operating system drops it. Other processes see that at once,
 * from other containers too. A problem with a lock stops no delivery.
 */
export function createOwnerLocks(path: string, { engine, owner: self }: { engine: string; owner: string }) {
  let ownLock: { readonly db: Database; readonly ino: number } | undefined;
  const pathOf = (owner: string) => `${path}${SUFFIX}${owner}`;

  /** Returns the lock; `undefined` if another process has it. */
  function lock(owner: string, patienceMs = 0): Database | undefined {
    const db = openDatabase(engine, pathOf(owner));
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
    // Another process may have taken this one for ended before it had the lock, and removed the file.
    // Or a copy of the directory is in its place, and the lock is on the file that was moved away.
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (ownLock && statIfThere(pathOf(self))?.ino === ownLock.ino) return;
      release();
      const file = openSync(pathOf(self), "a", 0o600);
      const { ino } = fstatSync(file);
      // Before locking it: closing it later would drop this process's own lock.
      closeSync(file);
      const db = lock(self, PATIENCE_MS);
      if (!db) return;
      ownLock = { db, ino };
    }
  }

  function release(keepsFile = false): void {
    if (keepsFile) ownLock?.db.close();
    else if (ownLock) drop(ownLock.db, self);
    ownLock = undefined;
  }

  /** Removes its file while no process can take the lock. Windows may remove no open file. */
  function drop(taken: Database, owner: string): void {
    const remove = () => harmless(() => rmSync(pathOf(owner), { force: true }) === undefined);
    const isRemoved = remove();
    taken.close();
    // Not otherwise: by now the file may be that of its process's next thread.
    if (!isRemoved) remove();
  }

  function stateOf(owner: string): "running" | "ended" | "unlocked" {
    if (owner === self) return "running";
    if (!statIfThere(pathOf(owner))) return "unlocked";
    const taken = lock(owner);
    taken?.close();
    return taken ? "ended" : "running";
  }

  function otherOwners(): string[] {
    const prefix = basename(path) + SUFFIX;
    const names = readdirSync(dirname(path)).filter((name) => name.startsWith(prefix));
    return names.map((name) => name.slice(prefix.length)).filter((owner) => owner !== self);
  }

  return {
    /** Without this lock, other processes judge by this one's heartbeats alone. */
    acquire: () => harmless(acquire),
    /** With `keepsFile`, the file stays: others see that this process has ended, and take its claims over. */
    release: (keepsFile?: boolean) => harmless(() => release(keepsFile)),
    /** `unlocked`: without a lock file. It ended, or could not take the lock. */
    stateOf: (owner: string) => harmless(() => stateOf(owner)) ?? "running",
    /** Removes the locks of ended processes that own no claims. */
    removeEnded(owners: readonly string[]): void {
      harmless(() => {
        for (const owner of otherOwners()) {
          const taken = owners.includes(owner) ? undefined : lock(owner);
          if (taken) drop(taken, owner);
        }
      });
    },
    /** How many other processes use the file now. */
    running: () => harmless(() => otherOwners().filter((owner) => stateOf(owner) === "running").length) ?? 0,
  };
}
