import type { EventKind } from "../../events.js";
import { LEAST_URGENT_FIRST } from "../../kinds.js";
import type { DeathReason } from "../dead-letters.js";

/** What is counted: live events by kind, dead letters by kind and reason, what was delivered by kind, scheduled payments, and known ids. */
export type Counted =
  | EventKind
  | `${EventKind} ${DeathReason}`
  | `delivered ${EventKind}`
  | "scheduled"
  | "ids_new"
  | "ids_young"
  | "ids_old";

/** The destination number for counts of all destinations together. */
export const ALL = 0;

type Total = [rows: number, bytes: number];

export type Totals = ReturnType<typeof createTotals>;

/** Rows and bytes of each destination, so that no statement has to count. `json` is what the file says. */
export function createTotals(json: string) {
  const stored = JSON.parse(json) as Readonly<Record<string, Readonly<Record<string, Total>>>>;
  const totals = new Map<number, Map<string, Total>>();
  for (const [number, own] of Object.entries(stored))
    totals.set(Number(number), new Map(Object.entries(own)));
  /** Bytes of live events and dead letters, which `maxBytes` bounds. */
  let allBytes = 0;
  for (const own of totals.values()) for (const [, bytes] of own.values()) allBytes += bytes;

  const rows = (destination: number, name: Counted): number => totals.get(destination)?.get(name)?.[0] ?? 0;

  return {
    rows,
    add(destination: number, name: Counted, rows: number, bytes: number): void {
      const own = totals.get(destination) ?? new Map<string, Total>();
      const total = own.get(name) ?? [0, 0];
      totals.set(destination, own.set(name, [total[0] + rows, total[1] + bytes]));
      allBytes += bytes;
    },
    /** Bytes of all destinations; without names, of everything. */
    bytes(...names: readonly Counted[]): number {
      if (names.length === 0) return allBytes;
      let sum = 0;
      for (const own of totals.values()) for (const name of names) sum += own.get(name)?.[1] ?? 0;
      return sum;
    },
    /** The numbers of all destinations that have or had rows. */
    get destinations(): readonly number[] {
      return [...totals.keys()].filter((number) => number !== ALL);
    },
    /** Whether no event is live. */
    get isEmpty(): boolean {
      return this.destinations.every((each) => LEAST_URGENT_FIRST.every((kind) => rows(each, kind) === 0));
    },
    /** What the file is to say. */
    get json(): string {
      const some = (own: Map<string, Total>) =>
        Object.fromEntries([...own].filter(([, [number]]) => number !== 0));
      return JSON.stringify(Object.fromEntries([...totals].map(([number, own]) => [number, some(own)])));
    },
  };
}
