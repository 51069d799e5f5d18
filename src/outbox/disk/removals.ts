import type { EventKind } from "../../events.js";
import type { Delivered } from "./delivered.js";
import type { Direct } from "./holdings.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  remove: "delete from events where seq in (select value from json_each(?))",
} as const;

// A row each, one by one, would change as many pages; so many together change those that they are on.
const ROWS_AT_ONCE = 256;
const BYTES_AT_ONCE = 128 * 1024;

/** Removals as the file keeps them: places by the number of their destination and their kind. */
export interface StoredRemovals {
  readonly bytes: number;
  readonly places: Readonly<Record<string, readonly number[]>>;
}

export type Removals = ReturnType<typeof createRemovals>;

/** Events that were delivered and are still in their table: they are removed together, and remembered as delivered by then. */
export function createRemovals(
  db: Database,
  { delivered, maxBytes }: { delivered: Delivered; maxBytes: number },
) {
  const bytesAtOnce = Math.min(BYTES_AT_ONCE, maxBytes);
  const { remove } = prepareAll(db, STATEMENTS);
  const groups = new Map<string, number[]>();
  const all = new Set<number>();
  let bytes = 0;
  let isChanged = false;

  return {
    add({ seq, destination, kind, size }: Pick<Direct, "seq" | "destination" | "kind" | "size">): void {
      const key = `${destination} ${kind}`;
      const group = groups.get(key);
      if (group) group.push(seq);
      else groups.set(key, [seq]);
      all.add(seq);
      bytes += size;
      isChanged = true;
    },
    has: (seq: number): boolean => all.has(seq),
    get areDue() {
      return all.size >= ROWS_AT_ONCE || bytes >= bytesAtOnce;
    },
    /** Removes them all. */
    run(): void {
      if (all.size === 0) return;
      for (const [key, places] of groups) {
        const [destination, kind] = key.split(" ") as [string, EventKind];
        delivered.addAll(Number(destination), kind, places);
      }
      remove.run(JSON.stringify([...all]));
      groups.clear();
      all.clear();
      bytes = 0;
      isChanged = true;
    },
    /** Whether they are others than the file's. */
    get isChanged() {
      return isChanged;
    },
    /** As the file keeps them from now on. */
    store(): string {
      isChanged = false;
      return JSON.stringify({ bytes, places: Object.fromEntries(groups) } satisfies StoredRemovals);
    },
    restore(json: string): void {
      const stored = JSON.parse(json) as StoredRemovals;
      groups.clear();
      all.clear();
      bytes = stored.bytes;
      for (const [key, places] of Object.entries(stored.places)) {
        groups.set(key, [...places]);
        for (const seq of places) all.add(seq);
      }
      isChanged = false;
    },
  };
}
