import type { EventKind } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST, priorityOf } from "../../../conversion/kinds.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Queues } from "./queues.js";
import { type EventRow, kindKeyOf, NEW_COLUMNS, type NewRow, type QueuePosition } from "./rows.js";

export const STATEMENTS = {
  // It enters its visitor's queue when there is capacity.
  put: `insert into events (${NEW_COLUMNS}) values (${NEW_COLUMNS.map(() => "?")})`,
  // Looks for both: in a new file, another event may have this sequence number.
  remove: "delete from events where seq = ? and id = ? returning *",
  take: "delete from events where seq = ? returning *",
  removeAll: "delete from events where seq in (select value from json_each(?))",
  keepUnreadable: `
    insert into unreadable (destination, id, kind, data, created_at, history, found_at) values (?, ?, ?, ?, ?, ?, ?)`,
  oldest: `
    ${LEAST_URGENT_FIRST.map((urgency) => `select seq, created_at from events where destination = ?1 and urgency = ${priorityOf(urgency)} and kind = ?2 and seq > ?3`).join(" union all ")}
    order by seq limit ?4`,
} as const;

// Chosen: seldom have more been delivered since the last look for the oldest.
const LOOKED_AT = 8;
// If rows are deleted together, a page changes once, and not once for each row.
const ROWS_AT_ONCE = 256;
const BYTES_AT_ONCE = 128 * 1024;
const SHARE_OF_DELIVERED = 0.02;

type Found = Pick<EventRow, "seq" | "id">;

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The rows of events that wait or are under way. */
export function createLiveEvents(
  { cache, ids, queues }: { cache: Cache; ids: KnownIds; queues: Queues },
  maxFileBytes: number,
) {
  const { put, remove, take, removeAll, keepUnreadable, oldest } = cache.prepare(STATEMENTS);
  const bytesAtOnce = Math.min(BYTES_AT_ONCE, maxFileBytes * SHARE_OF_DELIVERED);
  const lookedUp = cache.lookedUp(() => ({
    oldest: new Map<string, { readonly seq: number; readonly created_at: number }>(),
    /** By destination and kind: up to this one, no event is left. */
    noneUpTo: new Map<string, number>(),
  }));

  function takeOut(seq: number, now: number): EventRow {
    const row: EventRow = take.get(seq);
    // The event may be one of the upcoming ones.
    queues.forgetUpcoming();
    countOut(row, now);
    return row;
  }

  /** The visitor's next event becomes the head of the queue. */
  function countOut(row: QueuePosition & Pick<EventRow, "kind" | "size">, now: number): void {
    const { seq, destination, kind, size } = row;
    const { claims, totals } = cache.known;
    claims.remove(seq);
    totals.add(destination, kind, -1, -size);
    const own = lookedUp();
    const key = kindKeyOf(destination, kind);
    if (own.oldest.get(key)?.seq === seq) {
      own.oldest.delete(key);
      own.noneUpTo.set(key, seq);
    }
    queues.leave(row, now);
  }

  function removeDelivered(): void {
    const { known } = cache;
    if (known.delivered.seqs.size === 0) return;
    const seqs = JSON.stringify([...known.delivered.seqs]);
    ids.keepAllDelivered(seqs);
    removeAll.run(seqs);
    known.delivered = { seqs: new Set(), bytes: 0 };
  }

  return {
    put(row: NewRow): void {
      const { seq, destination, kind, created_at, size } = row;
      const { totals } = cache.known;
      put.run(...NEW_COLUMNS.map((each) => row[each]));
      if (totals.rows(destination, kind) === 0)
        lookedUp().oldest.set(kindKeyOf(destination, kind), { seq, created_at });
      totals.add(destination, kind, 1, size);
      queues.append(row);
    },
    /** Deletes the event, claimed or not. */
    takeOut,
    removeDelivered,
    /** Deletes delivered events if there are many, or nothing is under way. */
    removeDeliveredIfDue(): void {
      const { claims, delivered } = cache.known;
      if (delivered.seqs.size >= ROWS_AT_ONCE || delivered.bytes >= bytesAtOnce || claims.seqs().length === 0)
        removeDelivered();
    },
    /** Even if another process has claimed it meanwhile. Returns whether it was live. */
    deliver({ seq, id }: Found, now: number): boolean {
      const { known } = cache;
      const arrival = known.claims.onArrival(seq);
      if (arrival?.id === id) {
        // It is in no queue, so its row can be deleted later.
        known.delivered.seqs.add(seq);
        known.delivered.bytes += arrival.size;
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
    /** Deletes it, unless another process (`owner` is `undefined`: any process) has claimed it. */
    removeOwn(
      { seq, id, owner }: Found & { readonly owner: string | undefined },
      now: number,
    ): EventRow | undefined {
      if (cache.known.claims.ownerOf(seq) !== owner) return undefined;
      const row: EventRow | undefined = remove.get(seq, id);
      // The event may be one of the upcoming ones.
      if (owner === undefined) queues.forgetUpcoming();
      if (row) countOut(row, now);
      return row;
    },
    /** When the oldest event of a kind happened; `null` if there is none. */
    oldestOf(destination: number, kind: EventKind): number | null {
      const { known } = cache;
      if (known.totals.rows(destination, kind) === 0) return null;
      const own = lookedUp();
      const key = kindKeyOf(destination, kind);
      // If all queues are empty, claimed events are older than waiting ones.
      const claimed = queues.notes().anyQueued === false && known.claims.firstOnArrival(destination, kind);
      let found = own.oldest.get(key) || claimed || undefined;
      for (let after = own.noneUpTo.get(key) ?? 0; !found; ) {
        const some: { seq: number; created_at: number }[] = oldest.all(destination, kind, after, LOOKED_AT);
        found = some.find(({ seq }) => !known.delivered.seqs.has(seq));
        after = some.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
        if (some.length === 0) return null;
      }
      own.oldest.set(key, found);
      return found.created_at;
    },
    /** Its row cannot be read: sets it aside for a person to look at. */
    setAside(seq: number, now: number): void {
      const { destination, id, kind, data, created_at, history } = takeOut(seq, now);
      keepUnreadable.run(destination, id, kind, data, created_at, history, now);
      cache.noteUnreadable(id);
    },
  };
}
