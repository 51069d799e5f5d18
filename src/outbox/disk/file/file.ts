import { closeSync, copyFileSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { OutboxError } from "../../../shared/errors.js";
import { harmless } from "../../../shared/harmless.js";
import { NEWEST_VERSION } from "../../queue/tables.js";
import { MOST_TRIES, makeDirectory, protectDirectory, protectFiles, statIfThere } from "./access.js";
import { migrations } from "./dialect.js";
import { type Database, failureOf, openDatabase, transactionsOf, whenFree } from "./sqlite.js";

const PAGE_BYTES = 4_096;
// SQLite's default. To flush a log that grows takes twice as long as to overwrite one (measured).
const WAL_BYTES = 4 * 1024 * 1024;
// A log grows beyond its size while a reader still needs what is in it.
const LONG_WAL_BYTES = 64 * 1024 * 1024;
// Eight times SQLite's default, and taken only if used: ids lie all over their index.
const CACHE_BYTES = 16 * 1024 * 1024;
// A full file (its bound was lowered, or its content underestimated) grows a little when it is
// opened: a claim needs pages, too (24 measured), and without claims no event leaves.
const SPARE_PAGES = 256;
// Earlier versions can damage a shared file (sqlite.org/wal.html, "the WAL-reset bug").
const SHAREABLE_FROM = "3.51.3";
const BESIDE = ["-wal", "-shm"];

interface FileOptions {
  readonly engine: string;
  readonly maxBytes: number;
  /** The first version of SQLite that may share a file with other processes. */
  readonly shareableFrom?: string;
  /** How long to wait while another process has the file locked. Default: see `whenFree`. */
  readonly waitMs?: number;
  readonly isCurrent?: () => boolean;
}

export type OpenFile = ReturnType<typeof openChecked>;

/**
 * Opens the file. Makes it and its directory if they are missing, for this user alone.
 *
 * @throws OutboxError, or what SQLite and the file system throw.
 */
export function openFile(path: string, options: FileOptions, tries = MOST_TRIES): OpenFile {
  makeDirectory(dirname(path));
  protectDirectory(path);
  create(path);
  protectFiles(path);
  // Before it is opened: a file that comes to its place meanwhile must not be taken for it.
  const isCurrent = watch(path);
  const isGone = () => tries > 1 && !isCurrent();
  try {
    const file = openChecked(path, { ...options, isCurrent }, (db) => {
      // SQLite would use, or remove, the log of the file that is there now.
      if (isGone()) throw new Error("another file was put in its place");
      removeLogOfAnother(db, path);
    });
    if (!isGone()) return file;
    file.removeLog();
    file.close();
  } catch (error) {
    if (!isGone()) throw error;
  }
  return openFile(path, options, tries - 1);
}

/**
 * Opens an existing file beside the processes that use it. Neither creates nor migrates it.
 *
 * @throws OutboxError, or what SQLite and the file system throw.
 */
export function openExistingFile(path: string, options: FileOptions) {
  if (!lstatSync(path, { throwIfNoEntry: false })) {
    throw missing(`there is no ${path}; give the directory that the host gives to diskOutbox()`);
  }
  protectFiles(path);
  // Checked before anything is written: the file may be no outbox at all.
  return openChecked(path, options, (db) => {
    if (versionOf(db, path) === NEWEST_VERSION) return;
    throw missing(
      `${path} is no outbox, or one of an earlier version; the host's process brings it up to date when it starts`,
    );
  });
}

function missing(message: string): OutboxError {
  return new OutboxError("ERR_AFFILIATE_DISK_MISSING", `diskOutbox: ${message}`);
}

function openChecked(path: string, options: FileOptions, check: (db: Database) => void) {
  const { engine, maxBytes, shareableFrom = SHAREABLE_FROM, waitMs, isCurrent = watch(path) } = options;
  // The outbox's own file may be locked at this moment, or be no database.
  const nowhere = openDatabase(engine, ":memory:");
  const { version } = nowhere.prepare("select sqlite_version() as version").get();
  nowhere.close();
  const isShareable = version.localeCompare(shareableFrom, "en", { numeric: true }) >= 0;
  const db = openDatabase(engine, path);
  const beside: { file: string; isUnchanged(): boolean }[] = [];
  try {
    if (!isShareable) db.exec("pragma locking_mode = exclusive");
    whenFree(() => {
      check(db);
      configure(db, maxBytes);
    }, waitMs);
    if (db.prepare("pragma journal_mode").get().journal_mode !== "wal") {
      throw new Error("its file system cannot keep SQLite's write-ahead log");
    }
    const logs = BESIDE.map((suffix) => ({ file: path + suffix, isUnchanged: watch(path + suffix) }));
    // They may be those of another file, which a process uses.
    if (isCurrent()) beside.push(...logs);
    migrate(db, path);
  } catch (error) {
    db.close();
    if (isShareable || failureOf(error) !== "busy") throw error;
    throw new OutboxError(
      "ERR_AFFILIATE_DISK_IN_USE",
      `diskOutbox: another process uses ${path}, and SQLite ${version} cannot share a file without the risk of damaging ` +
        `it; update Node (22.22.3, 24.15 or later have SQLite ${shareableFrom}), or give each process a directory`,
      { cause: error },
    );
  }
  return {
    db,
    /** False if it was set aside, replaced or deleted. */
    isCurrent,
    /** Removes a log that a lost file left at the path: SQLite would take it for the next file's. */
    removeLog() {
      for (const { file, isUnchanged } of beside) if (isUnchanged()) rmSync(file, { force: true });
    },
    /** Called every few seconds. */
    cleanLog: createLogCleaner(db, path),
    close: () => db.close(),
  };
}

/** The function says whether the same file is still at this path. */
function watch(path: string): () => boolean {
  const before = statIfThere(path);
  return () => {
    const now = statIfThere(path);
    return now !== undefined && now.ino === before?.ino && now.dev === before.dev;
  };
}

/** Never opens an existing file: closing it would drop this process's own locks on it. */
function create(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/**
 * SQLite would take a deleted file's log for that of a new file. An empty file has none of its own,
 * nor gets one from another process while it is locked.
 */
function removeLogOfAnother(db: Database, path: string): void {
  const isEmpty = () => statIfThere(path)?.size === 0;
  if (!isEmpty()) return;
  db.exec("begin exclusive");
  if (isEmpty()) for (const suffix of BESIDE) rmSync(path + suffix, { force: true });
  db.exec("commit");
}

function configure(db: Database, maxBytes: number): void {
  const most = Math.ceil(maxBytes / PAGE_BYTES);
  const { page_count: pages } = db.prepare("pragma page_count").get();
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma secure_delete = on;
    pragma wal_autocheckpoint = ${WAL_BYTES / PAGE_BYTES};
    pragma journal_size_limit = ${WAL_BYTES};
    pragma cache_size = -${CACHE_BYTES / 1024};
    pragma max_page_count = ${Math.max(most, pages + SPARE_PAGES)};
    begin immediate;
    commit;
  `);
}

function migrate(db: Database, path: string): void {
  if (versionOf(db, path) === NEWEST_VERSION) return;
  const { begin, commit, rollback } = transactionsOf(db);
  begin();
  try {
    // Another process may have been faster.
    for (const sql of migrations().slice(versionOf(db, path))) db.exec(sql);
    db.exec(`pragma user_version = ${NEWEST_VERSION}`);
    commit();
  } catch (error) {
    rollback();
    throw error;
  }
}

function versionOf(db: Database, path: string): number {
  const { user_version: version } = db.prepare("pragma user_version").get();
  if (version > NEWEST_VERSION) {
    throw new OutboxError(
      "ERR_AFFILIATE_DISK_NEWER",
      `diskOutbox: ${path} was written by a later version of express-affiliate (its format is ${version}, this one knows ` +
        `${NEWEST_VERSION}); update this process, or give it another directory`,
    );
  }
  return version;
}

/**
 * Moves a damaged file aside, with a copy of its log, for an operator to look at. Returns its new
 * path. Who makes the next file removes the log: by then it may be that file's own.
 */
export function setAside(path: string): string {
  const aside = `${path}.damaged-${new Date().toISOString().replaceAll(":", "")}`;
  harmless(() => copyFileSync(`${path}-wal`, `${aside}-wal`));
  renameSync(path, aside);
  return aside;
}

/**
 * Empties SQLite's log, which still holds customers' addresses of delivered events, if nothing was
 * written since the last call, or if it is long.
 */
function createLogCleaner(db: Database, path: string): () => void {
  const checkpoint = db.prepare("pragma wal_checkpoint(truncate)");
  let writtenAt = 0;

  return function cleanLog() {
    const { size = 0, mtimeMs = 0 } = statIfThere(`${path}-wal`) ?? {};
    if (size >= LONG_WAL_BYTES || mtimeMs === writtenAt) checkpoint.get();
    writtenAt = mtimeMs;
  };
}
