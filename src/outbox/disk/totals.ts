import type { Database } from "./sqlite.js";

/** Rows and bytes by kind of event, by reason of death, and of `delivered`: read and written once a transaction. */
export interface Totals {
  load(): void;
  save(): void;
  add(name: string, rows: number, bytes: number): void;
  rows(name: string): number;
  bytes(...names: readonly string[]): number;
}

export function createTotals(db: Database): Totals {
  const select = db.prepare("select name, rows, bytes from totals");
  const replace = db.prepare("replace into totals (name, rows, bytes) values (?, ?, ?)");
  const changed = new Set<string>();
  let totals = new Map<string, { rows: number; bytes: number }>();

  return {
    load() {
      totals = new Map(select.all().map(({ name, rows, bytes }) => [name, { rows, bytes }]));
      changed.clear();
    },
    save() {
      for (const name of changed) {
        const { rows, bytes } = totals.get(name) as { rows: number; bytes: number };
        replace.run(name, rows, bytes);
      }
      changed.clear();
    },
    add(name, rows, bytes) {
      const before = totals.get(name) ?? { rows: 0, bytes: 0 };
      totals.set(name, { rows: before.rows + rows, bytes: before.bytes + bytes });
      changed.add(name);
    },
    rows: (name) => totals.get(name)?.rows ?? 0,
    bytes: (...names) => names.reduce((sum, name) => sum + (totals.get(name)?.bytes ?? 0), 0),
  };
}
