import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { OutboxError } from "../../../shared/errors.js";

const OTHERS_RIGHTS = 0o077;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;
/** Of opening a file that changes. Some file systems give a file another number at each look. */
export const MOST_TRIES = 10;

/** `undefined` if nothing is there, or a directory above is missing: Node 20 throws for that. */
export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (/^(ENOENT|ENOTDIR)$/.test((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
}

/**
 * Makes a missing directory and those above it, for this user alone. One at a time: `mkdir` with
 * `recursive` does not end on a file system that makes none, such as /proc.
 */
export function makeDirectory(directory: string): void {
  if (statIfThere(directory)?.isDirectory()) return;
  const parent = dirname(directory);
  if (!statIfThere(parent)) makeDirectory(parent);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!statIfThere(directory)?.isDirectory()) throw error;
  }
}

/**
 * Makes sure that no other user can read or write the outbox: it holds customers' addresses. Closes
 * a directory that holds nothing else to other users.
 *
 * @throws OutboxError `ERR_AFFILIATE_DISK_EXPOSED` if others can, and this process may not change
 * that.
 */
export function protectDirectory(path: string): void {
  const directory = dirname(path);
  const { uid, mode } = statSync(directory);
  if (isForeign(uid) && uid !== 0) {
    throw exposed(`${directory} belongs to another user (uid ${uid}); give a directory of this user's own`);
  }
  if (process.getuid === undefined || (mode & OTHERS_RIGHTS) === 0) return;
  const isItsOwn = readdirSync(directory).every((name) => name.startsWith(basename(path)));
  if (!isForeign(uid) && isItsOwn) chmodSync(directory, 0o700);
  else if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    const shownMode = (mode & 0o7777).toString(8).padStart(4, "0");
    throw exposed(
      `other users can write to ${directory} (its mode is ${shownMode}); give a directory in it, which is then made for this user alone`,
    );
  }
}

/**
 * The same for the file and what SQLite keeps beside it. They have to be files, and no links.
 *
 * @throws OutboxError `ERR_AFFILIATE_DISK_EXPOSED`
 */
export function protectFiles(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (!stats) continue;
    if (!stats.isFile() || isForeign(stats.uid)) {
      const what = stats.isSymbolicLink()
        ? "a symbolic link"
        : `another user's (uid ${stats.uid}), or no file`;
      throw exposed(`${file} is ${what}; it must be a file of the user that runs this process`);
    }
    if (process.getuid !== undefined && (stats.mode & 0o677) !== 0o600) chmodSync(file, 0o600);
  }
}

/** What is at a path, if it is a file of this user's, and no link. */
export function ownFile(path: string): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() && stats.nlink === 1 && !isForeign(stats.uid) ? stats : undefined;
}

/** Only on systems with users: on Windows, a directory has the rights of its parents. */
function isForeign(uid: number): boolean {
  return process.geteuid !== undefined && uid !== process.geteuid();
}

function exposed(message: string): OutboxError {
  return new OutboxError("ERR_AFFILIATE_DISK_EXPOSED", `diskOutbox: ${message}`);
}
