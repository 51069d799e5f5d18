import { type Database, openDatabase } from "./sqlite.js";

/** Marks a file as a sandbox's ledger ("afsb"), so that no other database is taken for one. */
const APPLICATION_ID = 0x61667362;

const tables = `
  create table clicks (
    id integer primary key autoincrement, at text not null,
    affiliateReference text not null, clickId text unique, sessionId text,
    clickedUrl text, referrerUrl text, userAgent text, source text
  ) strict;
  create index clicks_by_session on clicks (sessionId);

  create table leads (
    id integer primary key autoincrement, at text not null, kind text not null, endpoint text not null,
    clickId text, sessionId text, customerEmail text not null, customer text not null,
    customerId text, customerName text, leadValue real,
    linkedClick integer references clicks, linkedThrough text, notLinked text
  ) strict;
  create index leads_by_customer on leads (customer);
  create index leads_by_click on leads (linkedClick);

  create table requests (
    id integer primary key autoincrement, at text not null, method text not null, path text not null,
    headers text not null, body text, status integer, response text, ms integer not null,
    fault text not null, replayed integer not null
  ) strict;

  create table answers (
    endpoint text, idempotencyKey text, status integer not null, body text not null,
    primary key (endpoint, idempotencyKey)
  ) strict, without rowid;

  pragma application_id = ${APPLICATION_ID};
`;

/** What later versions of this package added to the tables, in order; `user_version` counts those that a file has. */
const additions = [
  `create index clicks_by_time on clicks (at);
   alter table requests add column idempotencyKey text;
   alter table requests add column recordedClick integer;
   alter table requests add column recordedLead integer;
   create index requests_by_key on requests (idempotencyKey, path);
   create index requests_by_fault on requests (fault, at) where fault <> 'ok';
   create index requests_by_click on requests (recordedClick);
   create index requests_by_lead on requests (recordedLead);

   create table faults (
     id integer primary key autoincrement, mode text not null, since text not null, until text
   ) strict;`,
];

/**
 * Opens a ledger's database, making it where it is new, and holds it for this process alone: the lock is the
 * operating system's, so it goes when the process does, however that ends. What is committed outlives `kill -9`.
 */
export function openLedgerFile(file: string): Database {
  let database: Database | undefined;
  try {
    database = openDatabase(file);
    database.exec("pragma locking_mode = exclusive; pragma journal_mode = wal; begin exclusive;");
    prepareTables(database, file);
    database.exec("commit; pragma synchronous = normal;");
    return database;
  } catch (error) {
    database?.close();
    throw explained(error as Error, file);
  }
}

/**
 * Closes it and leaves the file alone, without a journal beside it, free for the next one. Said in so many words,
 * because `@photostructure/sqlite` keeps a closed database open until its statements are collected as garbage.
 */
export function closeLedgerFile(database: Database): void {
  database.exec(
    "pragma journal_mode = delete; pragma locking_mode = normal; select count(*) from sqlite_schema;",
  );
  database.close();
}

function prepareTables(database: Database, file: string): void {
  const { id, version, others } = database
    .prepare(
      `select application_id as id, user_version as version, (select count(*) from sqlite_schema) as others
       from pragma_application_id, pragma_user_version`,
    )
    .get() as { id: number; version: number; others: number };
  if (id !== APPLICATION_ID) {
    if (others > 0) throw new Error(`sandbox: ${file} is a database of something else; choose another file`);
    database.exec(tables);
  }
  for (const addition of additions.slice(version)) database.exec(addition);
  database.exec(`pragma user_version = ${Math.max(version, additions.length)}`);
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
