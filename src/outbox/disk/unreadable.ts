import type { ClaimOwners } from "./claim-owners.js";
import type { Oldest } from "./oldest.js";
import type { EventRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";
import type { VisitorQueues } from "./visitor-queues.js";

export const STATEMENTS = {
  remove: "delete from events where seq = ? returning *",
  keep: `
    insert into unreadable (destination, id, kind, data, created_at, history, found_at) values (?, ?, ?, ?, ?, ?, ?)`,
} as const;

export type Unreadable = ReturnType<typeof createUnreadable>;

/** Events whose rows cannot be read: they are set aside for a person to look at, and the others go on. */
export function createUnreadable(
  db: Database,
  parts: {
    totals: Totals;
    owners: ClaimOwners;
    queues: VisitorQueues;
    oldest: Oldest;
    onFound: (id: string) => void;
  },
) {
  const { totals, owners, queues, oldest, onFound } = parts;
  const { remove, keep } = prepareAll(db, STATEMENTS);

  return {
    onFound,
    setAside(seq: number, now: number): void {
      const row: EventRow = remove.get(seq);
      keep.run(row.destination, row.id, row.kind, row.data, row.created_at, row.history, now);
      owners.remove(seq);
      oldest.left(row.destination, row.kind, seq);
      totals.add(row.destination, row.kind, -1, -row.size);
      queues.leave(row, now);
      onFound(row.id);
    },
  };
}
