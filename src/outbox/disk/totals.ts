import type { EventKind } from "../../events.js";
import type { DeathReason } from "../dead-letters.js";
import { SHEDDING_ORDER } from "../shedding.js";

/** What is counted: live events by kind, dead letters by kind and reason, what was delivered by kind, and known ids. */
export type Counted =
  | EventKind
  | `${EventKind} ${DeathReason}`
  | `delivered ${EventKind}`
  | "ids_new"
  | "ids_young"
  | "ids_old";

/** The destination number for counts of all destinations together. */
export const ALL = 0;

type Total = [rows: number, bytes: number];

/** Totals as the file keeps them. */
type StoredTotals = Readonly<Record<string, Readonly<Record<string, Total>>>>;

export type Totals = ReturnType<typeof createTotals>;

/** Rows and bytes of each destination, so that no statement has to count. */
export function createTotals() {
  const totals = new Map<number, Map<Counted, Total>>();
  /** Bytes of live events and dead letters, which `maxBytes` bounds. */
  let allBytes = 0;
  let live = 0;
  let isChanged = false;

  function totalOf(destination: number, name: Counted): Total {
    const own = totals.get(destination) ?? new Map<Counted, Total>();
    totals.set(destination, own);
    const total = own.get(name) ?? [0, 0];
    own.set(name, total);
    return total;
  }

  function add(destination: number, name: Counted, rows: number, bytes: number): void {
    const total = totalOf(destination, name);
    total[0] += rows;
    total[1] += bytes;
    allBytes += bytes;
    if (isLiveKind(name)) live += rows;
    isChanged = true;
  }

  return {
    add,
    rows: (destination: number, name: Counted): number => totals.get(destination)?.get(name)?.[0] ?? 0,
    /** How many events are live, of all destinations. */
    live: (): number => live,
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
    /** Whether they differ from the file's. */
    get isChanged() {
      return isChanged;
    },
    /** The text that the file keeps from now on. */
    store(): string {
      isChanged = false;
      const some = (own: Map<Counted, Total>) =>
        Object.fromEntries([...own].filter(([, [rows]]) => rows !== 0));
      return JSON.stringify(Object.fromEntries([...totals].map(([number, own]) => [number, some(own)])));
    },
    restore(json: string): void {
      totals.clear();
      allBytes = 0;
      live = 0;
      for (const [number, own] of Object.entries(JSON.parse(json) as StoredTotals)) {
        for (const [name, [rows, bytes]] of Object.entries(own))
          add(Number(number), name as Counted, rows, bytes);
      }
      isChanged = false;
    },
  };
}

const isLiveKind = (name: Counted) => (SHEDDING_ORDER as readonly Counted[]).includes(name);
