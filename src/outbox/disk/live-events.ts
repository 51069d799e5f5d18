import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Oldest } from "./oldest.js";
import type { Claimed } from "./protocol.js";
import type { Queues } from "./queues.js";
import type { EventRow, NewRow, QueuePosition } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  // It enters its visitor's queue when there is capacity for it.
  put: `
    insert into events (
      seq, destination, id, kind, endpoint, urgency, click_id, session_id, data, created_at, queued_at, size, history,
      interrupted
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // By both: in a new file, another event may have this sequence number.
  remove: "delete from events where seq = ? and id = ? returning *",
  take: "delete from events where seq = ? returning *",
  removeAll: "delete from events where seq in (select value from json_each(?))",
  keepUnreadable: `
    insert into unreadable (destination, id, kind, data, created_at, history, found_at) values (?, ?, ?, ?, ?, ?, ?)`,
} as const;

// Deleted one by one, each row would change its page anew. Deleted together, each page changes once.
const ROWS_AT_ONCE = 256;
const BYTES_AT_ONCE = 128 * 1024;
const SHARE_OF_DELIVERED = 0.02;

/** An event, and the process that is to have claimed it. */
type Owned = Pick<Claimed, "seq" | "id"> & { readonly owner: string | undefined };

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The rows of events that wait or are under way. */
export function createLiveEvents(
  db: Database,
  parts: {
    cache: Cache;
    ids: KnownIds;
    queues: Queues;
    oldest: Oldest;
    maxFileBytes: number;
    onUnreadable: (id: string) => void;
  },
) {
  const { cache, ids, queues, oldest, onUnreadable } = parts;
  const { put, remove, take, removeAll, keepUnreadable } = prepareAll(db, STATEMENTS);
  const bytesAtOnce = Math.min(BYTES_AT_ONCE, parts.maxFileBytes * SHARE_OF_DELIVERED);

  function takeOut(seq: number, now: number): EventRow {
    const row: EventRow = take.get(seq);
    // It may be one of them.
    queues.notes.forgetUpcoming();
    countOut(row, now);
    return row;
  }

  /** The event is no longer live: its visitor's next event becomes the head of the queue. */
  function countOut(row: QueuePosition & Pick<EventRow, "kind" | "size">, now: number): void {
    const { seq, destination, kind, size } = row;
    const { claims, totals } = cache.known;
    claims.remove(seq);
    totals.add(destination, kind, -1, -size);
    oldest.leave(row);
    queues.leave(row, now);
  }

  function removeDelivered(): void {
    const { delivered } = cache.known;
    if (delivered.rows === 0) return;
    const seqs = JSON.stringify(delivered.seqs);
    ids.keepAllDelivered(seqs);
    removeAll.run(seqs);
    delivered.clear();
  }

  return {
    put(row: NewRow): void {
      const { seq, destination, id, kind, endpoint, urgency, click_id, session_id, data } = row;
      const { created_at, queued_at, size, history, interrupted } = row;
      const { totals } = cache.known;
      put.run(
        ...[seq, destination, id, kind, endpoint, urgency, click_id, session_id, data],
        ...[created_at, queued_at, size, history, interrupted],
      );
      if (totals.rows(destination, kind) === 0) oldest.noteFirst(row);
      totals.add(destination, kind, 1, size);
      queues.append(row);
    },
    /** Deletes the event, claimed or not. */
    takeOut,
    removeDelivered,
    /** Deletes delivered events whose rows are still there, if there are many, or nothing is under way. */
    removeDeliveredIfDue(): void {
      const { claims, delivered } = cache.known;
      if (delivered.rows >= ROWS_AT_ONCE || delivered.bytes >= bytesAtOnce || claims.seqs().length === 0)
        removeDelivered();
    },
    /** The event is delivered, even if another process has claimed it meanwhile. Returns whether it was live. */
    deliver({ seq, id }: Claimed, now: number): boolean {
      const { known } = cache;
      const arrival = known.claims.onArrival(seq);
      if (arrival?.id === id) {
        // In no queue, so its row can be deleted later.
        known.delivered.add(seq, arrival.size);
        ids.countDelivered(arrival.destination, arrival.kind);
        countOut(arrival, now);
        return true;
      }
      const row: EventRow | undefined = remove.get(seq, id);
      if (!row) return false;
      countOut(row, now);
      ids.keepDelivered(row.destination, row.kind, id);
      return true;
    },
    /** Deletes it, unless another process has claimed it meanwhile. Owner `undefined`: unless any process has. */
    removeOwn({ seq, id, owner }: Owned, now: number): EventRow | undefined {
      if (cache.known.claims.ownerOf(seq) !== owner) return undefined;
      const row: EventRow | undefined = remove.get(seq, id);
      // It may be one of them.
      if (owner === undefined) queues.notes.forgetUpcoming();
      if (row) countOut(row, now);
      return row;
    },
    /** Sets an event aside for a person to look at: its row cannot be read. */
    setAside(seq: number, now: number): void {
      const { destination, id, kind, data, created_at, history } = takeOut(seq, now);
      keepUnreadable.run(destination, id, kind, data, created_at, history, now);
      onUnreadable(id);
    },
  };
}
