import type { Holdings } from "./holdings.js";
import type { Lines } from "./lines.js";
import type { Oldest } from "./oldest.js";
import type { EventRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

export const STATEMENTS = {
  remove: "delete from events where seq = ? returning *",
  keep: `
    insert into unreadable (destination, id, kind, data, created_at, history, found_at) values (?, ?, ?, ?, ?, ?, ?)`,
} as const;

export type Unreadable = ReturnType<typeof createUnreadable>;

/** Events whose rows say nothing that can be read: they are set aside for a person to look at, and the others go on. */
export function createUnreadable(
  db: Database,
  parts: { totals: Totals; holdings: Holdings; lines: Lines; oldest: Oldest; onFound: (id: string) => void },
) {
  const { totals, holdings, lines, oldest, onFound } = parts;
  const { remove, keep } = prepareAll(db, STATEMENTS);

  return {
    onFound,
    setAside(seq: number, now: number): void {
      const row: EventRow = remove.get(seq);
      keep.run(row.destination, row.id, row.kind, row.data, row.created_at, row.history, now);
      holdings.remove(seq);
      oldest.left(row.destination, row.kind, seq);
      totals.add(row.destination, row.kind, -1, -row.size);
      lines.leave(row, now);
      onFound(row.id);
    },
  };
}
