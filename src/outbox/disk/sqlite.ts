import { isBuiltin } from "node:module";
import { join } from "node:path";
import { OutboxError } from "../../shared/errors.js";
import { requireFrom, resolvePeer } from "../../shared/peer.js";

/** What `node:sqlite` and `@photostructure/sqlite` have in common, as far as it is used here. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export interface Statement {
  run(...values: Value[]): { changes: number | bigint };
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  get(...values: Value[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  all(...values: Value[]): any[];
}

export type Value = string | number | bigint | null;

export function prepareAll<Name extends string>(db: Database, statements: Readonly<Record<Name, string>>) {
  const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, db.prepare(sql)]);
  return Object.fromEntries(prepared) as Record<Name, Statement>;
}

const BUILT_IN = "node:sqlite";
const PEER = "@photostructure/sqlite";

/**
 * Finds SQLite: Node's own from 22.13 on, else the package of the same interface.
 *
 * @param from files or directories beside which the package may be installed.
 * @returns what `loadEngine` takes as its engine.
 * @throws OutboxError `ERR_AFFILIATE_DISK_ENGINE`
 */
export function findEngine(from: readonly (string | undefined)[], hasBuiltIn = isBuiltin(BUILT_IN)): string {
  if (hasBuiltIn) return BUILT_IN;
  const installed = resolvePeer(PEER, from);
  if (installed !== undefined) return installed;
  throw new OutboxError(
    "ERR_AFFILIATE_DISK_ENGINE",
    `diskOutbox: Node ${process.versions.node} has no SQLite of its own (22.13 and later do); install one: npm install ${PEER}@1.2`,
  );
}

/** A loaded version of SQLite. */
export interface SqliteModule {
  readonly version: string;
  open(path: string): Database;
}

// Once each: a look for killed processes opens a file of each, twice a second.
const loaded = new Map<string, SqliteModule>();

/** @param engine what `findEngine` found. */
export function loadEngine(engine: string): SqliteModule {
  const module = loaded.get(engine) ?? load(engine);
  loaded.set(engine, module);
  return module;
}

function load(engine: string): SqliteModule {
  const { emitWarning } = process;
  // This thread is the outbox's own; that SQLite is experimental in Node 22 is no news to the host.
  process.emitWarning = () => {};
  const module = requireFrom(join(process.cwd(), "any.js"))(engine);
  process.emitWarning = emitWarning;
  // A later version of Node drops the `Sync` from its name.
  const Database = module.Database ?? module.DatabaseSync;
  const open = (path: string): Database => new Database(path);
  // Asked of another database: the file that is to be opened may be locked at this moment.
  const nowhere = open(":memory:");
  const { version } = nowhere.prepare("select sqlite_version() as version").get();
  nowhere.close();
  return { version, open };
}

// SQLite's primary result codes (sqlite.org/rescode.html), and its words for them: `all` of the package gives no code.
const FAILURES = [
  { kind: "busy", codes: [5, 6, 15], words: /^database (table )?is locked|^locking protocol/ },
  { kind: "damaged", codes: [11, 26], words: /^database disk image is malformed|^file is not a database/ },
  { kind: "full", codes: [13], words: /^database or disk is full/ },
] as const;

/** A row that SQLite can read, and this package cannot. */
export class UnreadableError extends Error {}

/** Which kind of failure SQLite or the file system has thrown. */
export function failureOf(error: unknown): (typeof FAILURES)[number]["kind"] | "other" {
  const { errcode, code, message } = Object(error) as { errcode?: number; code?: string; message?: string };
  if (error instanceof UnreadableError) return "damaged";
  if (code === "ENOSPC" || code === "EDQUOT") return "full";
  if (code !== "ERR_SQLITE_ERROR") return "other";
  const found = FAILURES.find(({ codes, words }) =>
    errcode === undefined ? words.test(message ?? "") : (codes as readonly number[]).includes(errcode & 0xff),
  );
  return found?.kind ?? "other";
}
