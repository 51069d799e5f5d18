import { createRequire } from "node:module";

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

type Engine = new (file: string) => Database;

const require = createRequire(import.meta.url);

/**
 * Opens a SQLite database with Node's own engine (from 22.13), else with `@photostructure/sqlite`, which has the
 * same interface and runs on Node 20. Throws an error that names that package where neither is there.
 */
export function openDatabase(file: string): Database {
  return new (ownEngine() ?? installedEngine())(file);
}

function ownEngine(): Engine | undefined {
  const builtin = process.getBuiltinModule?.("node:sqlite") as unknown;
  const sqlite = builtin as { Database?: Engine; DatabaseSync?: Engine } | undefined;
  return sqlite?.Database ?? sqlite?.DatabaseSync;
}

function installedEngine(): Engine {
  try {
    return require("@photostructure/sqlite").DatabaseSync;
  } catch (cause) {
    throw new Error(
      `sandbox: its ledger needs SQLite, and Node ${process.versions.node} brings none. ` +
        "Run `npm install --save-dev @photostructure/sqlite@1.2`, or use Node 22.13 or later",
      { cause },
    );
  }
}
