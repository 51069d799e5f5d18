import { chmodSync, closeSync, openSync, readSync, statSync } from "node:fs";
import { type Database, openDatabase } from "./sqlite.js";

export const IN_MEMORY = ":memory:";

/** "afsb" marks a file as a sandbox's ledger: no other database is taken for one. */
const APPLICATION_ID = 0x61667362;

const tables = `
  create table if not exists clicks (
    id integer primary key autoincrement, at text not null,
    affiliateReference text not null, clickId text unique, sessionId text,
    clickedUrl text, referrerUrl text, userAgent text, source text
  ) strict;
  create index if not exists clicks_by_session on clicks (sessionId);
  create index if not exists clicks_by_time on clicks (at);

  create table if not exists leads (
    id integer primary key autoincrement, at text not null, kind text not null, endpoint text not null,
    clickId text, sessionId text, customerEmail text not null, customer text not null,
    customerId text, customerName text, leadValue real,
    linkedClick integer references clicks, linkedThrough text, notLinked text
  ) strict;
  create index if not exists leads_by_customer on leads (customer);
  create index if not exists leads_by_click on leads (linkedClick);

  create table if not exists requests (
    id integer primary key autoincrement, at text not null, method text not null, path text not null,
    headers text not null, body text, status integer, response text, ms integer not null,
    fault text not null, replayed integer not null, idempotencyKey text,
    recordedClick integer, recordedLead integer
  ) strict;
  create index if not exists requests_by_key on requests (idempotencyKey, path);
  create index if not exists requests_by_fault on requests (fault, at) where fault <> 'ok';
  create index if not exists requests_by_click on requests (recordedClick);
  create index if not exists requests_by_lead on requests (recordedLead);

  create table if not exists answers (
    endpoint text, idempotencyKey text, status integer not null, body text not null,
    primary key (endpoint, idempotencyKey)
  ) strict, without rowid;

  create table if not exists faults (
    id integer primary key autoincrement, mode text not null, since text not null, until text
  ) strict;
`;

/** Opened by this process. */
const openFiles = new Map<Database, string | undefined>();

/**
 * Opens or creates a ledger. Locks it for this process: the system releases the lock, however the
 * process ends. What is committed outlives `kill -9`.
 */
export function openLedgerFile(file: string): Database {
  let database: Database | undefined;
  try {
    refuseForeignFile(file);
    if (file !== IN_MEMORY) keepPrivate(file);
    database = openDatabase(file);
    openFiles.set(database, identityOf(file));
    // The mark first: in the journal of `wal`, it could reach the file after a `kill -9`.
    database.exec(`pragma locking_mode = exclusive; pragma application_id = ${APPLICATION_ID};
      pragma journal_mode = wal; begin exclusive; ${tables} commit; pragma synchronous = normal;`);
    return database;
  } catch (error) {
    if (database) closeDatabase(database);
    throw explained(error as Error, file);
  }
}

/** It has customers' addresses. SQLite gives the files beside it the same rights. */
function keepPrivate(file: string): void {
  for (const each of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    try {
      // Of a file that is there, `open` changes no rights.
      if (each === file) closeSync(openSync(file, "a", 0o600));
      chmodSync(each, 0o600);
    } catch {
      // There is none, or SQLite says why it cannot be opened.
    }
  }
}

/**
 * Closes the file without a journal beside it, free for the next one. Written out:
 * `@photostructure/sqlite` keeps a closed database open until its statements are collected as
 * garbage.
 */
export function closeLedgerFile(database: Database): void {
  database.exec(
    "pragma journal_mode = delete; pragma locking_mode = normal; select count(*) from sqlite_schema;",
  );
  closeDatabase(database);
}

function closeDatabase(database: Database): void {
  openFiles.delete(database);
  database.close();
}

/**
 * Reads the header as bytes, because SQLite would create files beside it, and would change it if a
 * journal was left over. Not of a file that this process has open: closing it would release the
 * lock.
 */
function refuseForeignFile(file: string): void {
  const identity = identityOf(file);
  if (identity && [...openFiles.values()].includes(identity)) throw new Error("database is locked");
  const header = headerOf(file);
  if (header.length === 0) return;
  if (header.toString("latin1", 0, 16) !== "SQLite format 3\0") throw new Error("file is not a database");
  if (header.readUInt32BE(68) !== APPLICATION_ID)
    throw new Error(`sandbox: ${file} is a database of something else; choose another file`);
}

function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** The first 100 bytes; none if the file is new or empty, or SQLite will refuse it. */
function headerOf(file: string): Buffer {
  const header = Buffer.alloc(100);
  let opened: number | undefined;
  try {
    opened = openSync(file, "r");
    return header.subarray(0, readSync(opened, header, 0, header.length, 0) && header.length);
  } catch {
    return Buffer.alloc(0);
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

function explained(error: Error, file: string): Error {
  if (/locked|busy/i.test(error.message)) {
    const message = `sandbox: ${file} is in use by another sandbox; stop that one, or choose another file`;
    return new Error(message, { cause: error });
  }
  if (/not a database/i.test(error.message)) {
    return new Error(`sandbox: ${file} is not a SQLite database; choose another file`, { cause: error });
  }
  if (/open database/i.test(error.message)) {
    return new Error(`sandbox: ${file} cannot be opened; is its folder there, and may it be written to?`, {
      cause: error,
    });
  }
  return error;
}
