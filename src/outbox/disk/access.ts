import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { OutboxError } from "../../shared/errors.js";

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** What is at a path; `undefined` where nothing is, or a directory on the way is missing, for which Node 20 would throw. */
export function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (/^(ENOENT|ENOTDIR)$/.test((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
}

/**
 * Makes a directory that is missing, and those above it, for this user alone. One at a time: `mkdir` with `recursive` does
 * not end where a file system such as /proc makes none.
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
 * Sees to it that no other user can read or write the outbox in this directory: it holds customers' addresses. A directory that
 * holds nothing else is closed to them.
 *
 * @throws OutboxError `ERR_AFFILIATE_DISK_EXPOSED` where others can, and it is not for this process to change it.
 */
export function protectDirectory(path: string): void {
  const directory = dirname(path);
  const { uid, mode } = statSync(directory);
  if (isForeign(uid) && uid !== 0) {
    throw exposed(`${directory} belongs to another user (uid ${uid}); give a directory of this user's own`);
  }
  if (process.getuid === undefined || (mode & OTHERS) === 0) return;
  const names = readdirSync(directory);
  if (!isForeign(uid) && names.every((name) => name.startsWith(basename(path)))) chmodSync(directory, 0o700);
  else if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    throw exposed(
      `other users can write to ${directory} (its mode is ${modeOf(mode)}); give a directory in it, which is then made for this user alone`,
    );
  }
}

/**
 * Sees to it that no other user can read or write the file, or what SQLite keeps beside it, and that they are files.
 *
 * @throws OutboxError `ERR_AFFILIATE_DISK_EXPOSED`
 */
export function protectFiles(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    const stats = lstatSync(each, { throwIfNoEntry: false });
    if (stats) protectFile(each, stats);
  }
}

function protectFile(path: string, stats: Stats): void {
  if (stats.isSymbolicLink()) {
    throw exposed(`${path} is a symbolic link, which may lead anywhere; replace it by the file itself`);
  }
  if (!stats.isFile()) throw exposed(`${path} is no file; remove it`);
  if (isForeign(stats.uid)) {
    throw exposed(
      `${path} belongs to another user (uid ${stats.uid}); run as that user, or give another directory`,
    );
  }
  if (process.getuid !== undefined && (stats.mode & OTHERS) !== 0) chmodSync(path, 0o600);
}

/** What is at a path, if it is a file of this user's, and no link. */
export function ownFile(path: string): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() && stats.nlink === 1 && !isForeign(stats.uid) ? stats : undefined;
}

/** Where there are users: on Windows, a directory's rights are its parents'. */
function isForeign(uid: number): boolean {
  return process.geteuid !== undefined && uid !== process.geteuid();
}

function modeOf(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

function exposed(message: string): OutboxError {
  return new OutboxError("ERR_AFFILIATE_DISK_EXPOSED", `diskOutbox: ${message}`);
}
