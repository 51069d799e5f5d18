import { realpathSync, statfsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { errorFrom, OutboxError } from "../../../shared/errors.js";
import { harmless } from "../../../shared/harmless.js";
import { requireFrom, resolvePeer } from "../../../shared/peer.js";
import { makeDirectory } from "./access.js";

/** What `node:sqlite` and `@photostructure/sqlite` share, as far as it is used here. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export interface Statement {
  run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  get(...values: Value[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  all(...values: Value[]): any[];
  // Node 22.13 to 22.15 and 23 lack one or both.
  columns?(): { readonly name: string }[];
  setReturnArrays?(areArrays: boolean): void;
}

export type Value = string | number | null;

const BUILT_IN = "node:sqlite";
const PEER = "@photostructure/sqlite";

/**
 * Finds what `openDatabase` loads: Node's SQLite from 22.13 on, otherwise the package beside `from`.
 *
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

interface Use {
  readonly path: string;
  readonly engine: string;
  readonly clientId: number | undefined;
}

// Kept for the process: a second copy of this package brings a second copy of SQLite.
const REGISTRY = Symbol.for("express-affiliate.disk.uses");
const ofProcess = globalThis as { [REGISTRY]?: Set<Use> };

/**
 * Notes which copy of SQLite this process uses a file with, until `end`. When a second copy closes
 * the file, the process loses all its locks on it, and the first copy does not notice: the file
 * would be damaged.
 *
 * @throws OutboxError `ERR_AFFILIATE_DISK_COPIES` if the process uses the file with another copy.
 */
export function useOneCopy(given: string, engine: string, clientId: number | undefined) {
  const path = harmless(() => realPath(given)) ?? given;
  ofProcess[REGISTRY] ??= new Set();
  const uses = ofProcess[REGISTRY];
  const ofFile = [...uses].filter((use) => use.path === path);
  const copy = ofFile.find((use) => use.engine !== engine);
  if (copy) {
    throw new OutboxError(
      "ERR_AFFILIATE_DISK_COPIES",
      `diskOutbox: this process already uses ${path} with another copy of SQLite (${copy.engine}, and now ${engine}), which would damage the file; install one copy (npm ls express-affiliate @photostructure/sqlite)`,
    );
  }
  const noted = { path, engine, clientId };
  uses.add(noted);
  return {
    /** Whether another tracker with this client id uses the file. */
    isShared: clientId !== undefined && ofFile.some((use) => use.clientId === clientId),
    end: () => void uses.delete(noted),
  };
}

/** A deploy's link and the directory itself are one. What is not there yet has no such path. */
function realPath(path: string): string {
  makeDirectory(dirname(path));
  return join(realpathSync(dirname(path)), basename(path));
}

export function openDatabase(engine: string, path: string): Database {
  const { emitWarning } = process;
  // A host need not read that SQLite is experimental in Node 22.
  process.emitWarning = () => {};
  try {
    const { Database: Engine, DatabaseSync } = requireFrom(join(process.cwd(), "any.js"))(engine);
    // A later version of Node may drop the `Sync`.
    return new (Engine ?? DatabaseSync)(path);
  } finally {
    process.emitWarning = emitWarning;
  }
}

// SQLite's primary result codes (sqlite.org/rescode.html). The words are for the package's `all`,
// which gives no code.
const FAILURES = [
  { kind: "busy", codes: [5, 6, 15], words: /^database (table )?is locked|^locking protocol/ },
  { kind: "damaged", codes: [11, 26], words: /^database disk image is malformed|^file is not a database/ },
  { kind: "full", codes: [13], words: /^database or disk is full/ },
] as const;

export function failureOf(error: unknown): (typeof FAILURES)[number]["kind"] | "other" {
  const { errcode, code, message } = Object(error) as { errcode?: number; code?: string; message?: string };
  if (code === "ENOSPC" || code === "EDQUOT") return "full";
  if (code !== "ERR_SQLITE_ERROR") return "other";
  const found = FAILURES.find(({ codes, words }) =>
    errcode === undefined ? words.test(message ?? "") : (codes as readonly number[]).includes(errcode & 0xff),
  );
  return found?.kind ?? "other";
}

/** An error itself cannot be sent to another thread. */
export type Problem = Pick<OutboxError, "code" | "message">;

export function problemOf(error: unknown, path: string): OutboxError {
  if (error instanceof OutboxError) return error;
  const { message: why } = errorFrom(error);
  const problem = (code: OutboxError["code"], message: string) =>
    new OutboxError(code, `diskOutbox: ${message}`, { cause: error });
  const failure = failureOf(error);
  switch (failure === "other" && isFull(path) ? "full" : failure) {
    case "full":
      return problem("ERR_AFFILIATE_DISK_FULL", `no space is left for ${path} (${why})`);
    case "busy":
      return problem("ERR_AFFILIATE_DISK_BUSY", `another process kept ${path} locked (${why})`);
    default:
      return problem(
        "ERR_AFFILIATE_DISK_UNUSABLE",
        `${path} cannot be written (${why}); it must be on a local disk, in a directory that this user may write`,
      );
  }
}

// SQLite's smallest file, its log and its index take some 40 KB.
const LEAST_BYTES = 64 * 1024;

/** On a full disk, SQLite sometimes says only that it cannot open or write its file. */
function isFull(path: string): boolean {
  const { bavail, bsize } = harmless(() => statfsSync(dirname(path))) ?? { bavail: LEAST_BYTES, bsize: 1 };
  return bavail * bsize < LEAST_BYTES;
}

// Chosen: a host that starts waits ten seconds in all, see `LONGEST_START_MS`.
const LONGEST_WAIT_MS = 8_000;

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Transactions, which wait for the lock themselves: SQLite's own wait sleeps longer and longer, so
 * other processes overtake it.
 */
export function transactionsOf(db: Database) {
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");

  return {
    begin: () => void whenFree(() => begin.run()),
    // Named, so that a profile shows how long the flush takes.
    commit: () => void commit.run(),
    rollback: () => void harmless(() => db.exec("rollback")),
  };
}

/** Blocks the thread, and retries every 1 to 4 ms while another connection holds the lock. */
export function whenFree<T>(attempt: () => T, waitMs = LONGEST_WAIT_MS): T {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (failureOf(error) !== "busy" || performance.now() > deadline) throw error;
    }
    Atomics.wait(sleeper, 0, 0, 1 + 3 * Math.random());
  }
}
