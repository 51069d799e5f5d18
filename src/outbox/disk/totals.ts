import type { EventKind } from "../../events.js";
import type { DeathReason } from "../outbox.js";
import type { Database } from "./sqlite.js";

/** What is counted: live events by kind, dead letters by kind and reason, what was delivered by kind, and known ids. */
export type Counted =
  | EventKind
  | `${EventKind} ${DeathReason}`
  | `delivered ${EventKind}`
  | "ids_new"
  | "ids_young"
  | "ids_old";

/** The number under which is counted what belongs to no single destination. */
export const ALL = 0;

/** Rows and bytes of each destination: read and written once a transaction. */
export interface Totals {
  load(): void;
  save(): void;
  add(destination: number, name: Counted, rows: number, bytes: number): void;
  rows(destination: number, name: Counted): number;
  /** Bytes of all destinations; without names, of everything. */
  bytes(...names: readonly Counted[]): number;
  /** The numbers of the destinations of which there is something, or was. */
  readonly destinations: readonly number[];
}

interface Total {
  rows: number;
  bytes: number;
}

export function createTotals(db: Database): Totals {
  const select = db.prepare("select destination, name, rows, bytes from totals");
  const replace = db.prepare("replace into totals (destination, name, rows, bytes) values (?, ?, ?, ?)");
  const totals = new Map<number, Map<Counted, Total>>();
  const changed = new Map<Total, readonly [number, Counted]>();

  function totalOf(destination: number, name: Counted): Total {
    const own = totals.get(destination) ?? new Map<Counted, Total>();
    totals.set(destination, own);
    const total = own.get(name) ?? { rows: 0, bytes: 0 };
    own.set(name, total);
    return total;
  }

  return {
    load() {
      totals.clear();
      changed.clear();
      for (const { destination, name, rows, bytes } of select.all()) {
        Object.assign(totalOf(destination, name), { rows, bytes });
      }
    },
    save() {
      for (const [{ rows, bytes }, [destination, name]] of changed)
        replace.run(destination, name, rows, bytes);
      changed.clear();
    },
    add(destination, name, rows, bytes) {
      const total = totalOf(destination, name);
      total.rows += rows;
      total.bytes += bytes;
      changed.set(total, [destination, name]);
    },
    rows: (destination, name) => totals.get(destination)?.get(name)?.rows ?? 0,
    bytes(...names) {
      let sum = 0;
      for (const own of totals.values()) {
        for (const [name, { bytes }] of own) if (names.length === 0 || names.includes(name)) sum += bytes;
      }
      return sum;
    },
    get destinations() {
      return [...totals.keys()].filter((number) => number !== ALL);
    },
  };
}
