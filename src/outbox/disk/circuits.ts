import { type Circuit, type CircuitChange, type StoredCircuits, textOf } from "../circuits.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  circuits: "select endpoint, circuit from circuits where destination = ?",
  add: "insert into circuits (destination, endpoint, circuit) values (?, ?, ?) on conflict do nothing",
  change: "update circuits set circuit = ? where destination = ? and endpoint = ? and circuit = ?",
  remove: "delete from circuits where destination = ? and endpoint = ? and circuit = ?",
} as const;

/** What the processes on the file know together of endpoints that leave payments without an answer. */
export function createCircuits(db: Database) {
  const { circuits, add, change, remove } = prepareAll(db, STATEMENTS);

  return {
    read(destination: number, now: number): StoredCircuits {
      const rows = circuits.all(destination);
      return {
        now,
        circuits: Object.fromEntries(
          rows.map(({ endpoint, circuit }) => [endpoint, JSON.parse(circuit) as Circuit]),
        ),
      };
    },
    /** Whether the known one was still there. */
    replace({ destination, endpoint, known, next }: CircuitChange): boolean {
      if (!next) return known !== undefined && remove.run(destination, endpoint, textOf(known)).changes > 0;
      if (!known) return add.run(destination, endpoint, textOf(next)).changes > 0;
      return change.run(textOf(next), destination, endpoint, textOf(known)).changes > 0;
    },
  };
}
