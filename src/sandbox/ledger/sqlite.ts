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
  return new (ownEngine() ?? installedEngine())(file);
}

function ownEngine(): Engine | undefined {
  const builtin = process.getBuiltinModule?.("node:sqlite") as unknown;
  const sqlite = builtin as { Database?: Engine; DatabaseSync?: Engine } | undefined;
  return sqlite?.Database ?? sqlite?.DatabaseSync;
}

function installedEngine(): Engine {
  let cause: unknown;
  // In a bundle, the first is a place of the machine that made it, or none.
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
