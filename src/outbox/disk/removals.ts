import type { EventKind } from "../../events.js";
import type { ClaimedOnArrival } from "./claim-owners.js";
import type { Delivered } from "./delivered.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  remove: "delete from events where seq in (select value from json_each(?))",
} as const;

// Deleted one by one, each row would change its page anew. Deleted together, each page changes once.
const ROWS_AT_ONCE = 256;
const BYTES_AT_ONCE = 128 * 1024;

/** Removals as the file keeps them: sequence numbers by the number of the destination and the kind. */
export interface StoredRemovals {
  readonly bytes: number;
  readonly places: Readonly<Record<string, readonly number[]>>;
}

export type Removals = ReturnType<typeof createRemovals>;

/** Delivered events whose rows are still in the table. They are deleted together; their ids are remembered as delivered then. */
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
    add({
      seq,
      destination,
      kind,
      size,
    }: Pick<ClaimedOnArrival, "seq" | "destination" | "kind" | "size">): void {
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
      for (const [key, seqs] of groups) {
        const [destination, kind] = key.split(" ") as [string, EventKind];
        delivered.addAll(Number(destination), kind, seqs);
      }
      remove.run(JSON.stringify([...all]));
      groups.clear();
      all.clear();
      bytes = 0;
      isChanged = true;
    },
    /** Whether they differ from the file's. */
    get isChanged() {
      return isChanged;
    },
    /** The text that the file keeps from now on. */
    store(): string {
      isChanged = false;
      return JSON.stringify({ bytes, places: Object.fromEntries(groups) } satisfies StoredRemovals);
    },
    restore(json: string): void {
      const stored = JSON.parse(json) as StoredRemovals;
      groups.clear();
      all.clear();
      bytes = stored.bytes;
      for (const [key, seqs] of Object.entries(stored.places)) {
        groups.set(key, [...seqs]);
        for (const seq of seqs) all.add(seq);
      }
      isChanged = false;
    },
  };
}
