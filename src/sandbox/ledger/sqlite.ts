import { join } from "node:path";

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

// Not imported: webpack would take the package for a part of the bundle.
const { createRequire } = process.getBuiltinModule("node:module");

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
  let cause: unknown;
  // In a bundle, the first of them is a place of the machine that made it, or none.
  for (const place of [import.meta.url, process.argv[1], join(process.cwd(), "any.js")]) {
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
