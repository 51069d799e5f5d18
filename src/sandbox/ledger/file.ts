import { closeSync, existsSync, fchmodSync, openSync, readSync, realpathSync } from "node:fs";
import { join } from "node:path";

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
  create index if not exists requests_by_click on requests (recordedClick);
  create index if not exists requests_by_lead on requests (recordedLead);

  create table if not exists answers (
    endpoint text, idempotencyKey text, status integer not null, body text not null,
    primary key (endpoint, idempotencyKey)
  ) strict, without rowid;
`;

/** The files that this process has open, under their real paths. */
const openFiles = new Map<Database, string>();

/**
 * Opens or creates a ledger. Locks it for this process: the system releases the lock, however the
 * process ends. What is committed outlives `kill -9`.
 */
export function openLedgerFile(file: string): Database {
  let database: Database | undefined;
  try {
    if (file !== IN_MEMORY) refuseForeignFile(file);
    database = openDatabase(file);
    // The mark first: in the journal of `wal`, it could reach the file after a `kill -9`.
    database.exec(`pragma locking_mode = exclusive; pragma application_id = ${APPLICATION_ID};
      pragma journal_mode = wal; begin exclusive; ${tables} commit; pragma synchronous = normal;`);
    if (file !== IN_MEMORY) openFiles.set(database, realpathSync(file));
    return database;
  } catch (error) {
    database?.close();
    throw explained(error as Error, file);
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
  database.close();
  openFiles.delete(database);
}

/**
 * Reads the header as bytes, because SQLite would create files beside it, and would change it if a
 * journal was left over. Not of a file that this process has open: closing it would release the
 * lock. Makes the file this user's alone, as it has customers' addresses; SQLite gives those beside
 * it the same rights.
 */
function refuseForeignFile(file: string): void {
  if (existsSync(file) && [...openFiles.values()].includes(realpathSync(file)))
    throw new Error("database is locked");
  const header = Buffer.alloc(100);
  const opened = openSync(file, "a+", 0o600);
  try {
    const isEmpty = readSync(opened, header, 0, header.length, 0) === 0;
    if (!isEmpty && header.toString("latin1", 0, 16) !== "SQLite format 3\0")
      throw new Error("file is not a database");
    if (!isEmpty && header.readUInt32BE(68) !== APPLICATION_ID)
      throw new Error(`sandbox: ${file} is a database of something else; choose another file`);
    fchmodSync(opened, 0o600);
  } finally {
    closeSync(opened);
  }
}

const PROBLEMS: readonly (readonly [of: RegExp, says: string])[] = [
  [/locked|busy/i, "is in use by another sandbox; stop that one, or choose another file"],
  [/not a database/i, "is not a SQLite database; choose another file"],
  [/\bopen\b|readonly/i, "cannot be opened; is its folder there, and may it be written to?"],
];

function explained(error: Error, file: string): Error {
  const { message } = error;
  if (message.startsWith("sandbox:")) return error;
  const [, says = `cannot be used: ${message}`] = PROBLEMS.find(([of]) => of.test(message)) ?? [];
  return new Error(`sandbox: ${file} ${says}`, { cause: error });
}

type Value = string | number | null;

/** The part of `node:sqlite` that the ledger uses. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export interface Statement {
  run(...values: Value[]): { lastInsertRowid: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

/** Inserts rows whose fields have the names of the columns; null for what a row leaves out. */
export function inserter(database: Database, table: string) {
  const info = database.prepare("select name from pragma_table_info(?)").all(table) as { name: string }[];
  const columns = info.map(({ name }) => name);
  const places = columns.map(() => "?").join(", ");
  const insert = database.prepare(`insert into ${table} (${columns.join(", ")}) values (${places})`);

  /** The row's number. */
  return function insertRow(row: Readonly<Record<string, unknown>>): number {
    const values = columns.map((column) => (row[column] ?? null) as Value);
    return Number(insert.run(...values).lastInsertRowid);
  };
}

type Engine = new (file: string) => Database;

// Not imported: webpack would take the package for a part of the bundle.
const { createRequire } = process.getBuiltinModule("node:module");

/**
 * Opens a database with Node's own SQLite (from 22.13), otherwise with `@photostructure/sqlite`,
 * which has the same interface. Throws an error that names that package if neither is there.
 */
export function openDatabase(file: string): Database {
  return new (nodesEngine() ?? installedEngine())(file);
}

function nodesEngine(): Engine | undefined {
  const sqlite = process.getBuiltinModule?.("node:sqlite") as unknown as { DatabaseSync: Engine } | undefined;
  return sqlite?.DatabaseSync;
}

function installedEngine(): Engine {
  let cause: unknown;
  // In a bundle, the first is a place of the machine that made it, or none.
  const thisFile = typeof __filename === "undefined" ? undefined : __filename;
  for (const place of [thisFile, process.argv[1], join(process.cwd(), "any.js")]) {
    if (!place) continue;
    try {
      return createRequire(place)("@photostructure/sqlite").DatabaseSync;
    } catch (error) {
      cause ??= error;
    }
  }
  throw new Error(
    `sandbox: its ledger needs SQLite, and Node ${process.versions.node} brings none. ` +
      "Run `npm install --save-dev @photostructure/sqlite@1.2`, or use Node 22.13 or later",
    { cause },
  );
}
