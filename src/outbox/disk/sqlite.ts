import { createRequire, isBuiltin } from "node:module";
import { OutboxError } from "../../errors.js";

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

export type Value = string | number | null;

const BUILT_IN = "node:sqlite";
const PEER = "@photostructure/sqlite";

/**
 * Finds SQLite: Node's own from 22.13 on, else the package of the same interface.
 *
 * @param from files or directories beside which the package may be installed.
 * @returns what `openDatabase` takes as its engine.
 * @throws OutboxError `ERR_AFFILIATE_DISK_ENGINE`
 */
export function findEngine(from: readonly (string | undefined)[], hasBuiltIn = isBuiltin(BUILT_IN)): string {
  if (hasBuiltIn) return BUILT_IN;
  for (const place of from) {
    if (place === undefined) continue;
    try {
      return createRequire(place).resolve(PEER);
    } catch {}
  }
  throw new OutboxError(
    "ERR_AFFILIATE_DISK_ENGINE",
    `diskOutbox: Node ${process.versions.node} has no SQLite of its own (22.13 and later do); install one: npm install ${PEER}`,
  );
}

export function openDatabase(engine: string, path: string): Database {
  const { emitWarning } = process;
  // This thread is the outbox's own; that SQLite is experimental in Node 22 is no news to the host.
  process.emitWarning = () => {};
  try {
    const module = createRequire(path)(engine);
    // Its name loses the `Sync` in a Node to come.
    return new (module.Database ?? module.DatabaseSync)(path);
  } finally {
    process.emitWarning = emitWarning;
  }
}

// SQLite's primary result codes (sqlite.org/rescode.html).
const BUSY = [5, 6, 15];
const DAMAGED = [11, 26];
const FULL = 13;

/** What went wrong, of what SQLite or the file system threw. */
export function kindOf(error: unknown): "busy" | "damaged" | "full" | "other" {
  const { errcode, code } = Object(error) as { errcode?: number; code?: string };
  if (code === "ENOSPC" || code === "EDQUOT") return "full";
  if (errcode === undefined) return "other";
  const primary = errcode & 0xff;
  if (BUSY.includes(primary)) return "busy";
  if (DAMAGED.includes(primary)) return "damaged";
  return primary === FULL ? "full" : "other";
}
