import { priorityOf } from "../../../conversion/kinds.js";
import { endpointOf } from "../../../service/endpoints.js";
import { earliestOf, type ScheduledCount } from "../../counts.js";
import type { CancelOutcome } from "../../outbox.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { LiveEvents } from "./live-events.js";
import { eventFromRow, type ScheduledRow } from "./rows.js";

export const STATEMENTS = {
  put: "insert into scheduled (destination, id, not_before, created_at, size, data) values (?, ?, ?, ?, ?, ?)",
  take: "delete from scheduled where id = ? and destination = ? returning *",
  takeDue: `
    delete from scheduled
    where seq in (select seq from scheduled where destination = ? and not_before <= ? order by not_before limit ?)
    returning *`,
  next: "select not_before from scheduled where destination = ? order by not_before limit 1",
} as const;

// So few that a host does not notice the transaction.
const RELEASED_AT_ONCE = 200;

export type Scheduled = ReturnType<typeof createScheduled>;

export function createScheduled({ cache, ids, live }: { cache: Cache; ids: KnownIds; live: LiveEvents }) {
  const { put, take, takeDue, next } = cache.prepare(STATEMENTS);
  /** By destination: when its first scheduled payment is due. */
  const nextAt = cache.lookedUp(() => new Map<number, number>());

  function nextOf(destination: number): number | null {
    if (cache.known.totals.rows(destination, "scheduled") === 0) return null;
    const found = nextAt().get(destination) ?? (next.get(destination)?.not_before as number);
    nextAt().set(destination, found);
    return found;
  }

  function count({ destination, size }: Pick<ScheduledRow, "destination" | "size">, rows: 1 | -1): void {
    cache.known.totals.add(destination, "scheduled", rows, rows * size);
    nextAt().delete(destination);
  }

  /** Appends it to its visitor's queue, as if it had happened when it became due. */
  function enqueue(row: ScheduledRow): void {
    const { destination, id, not_before: at, size, data } = row;
    const kind = "payment";
    const event = eventFromRow({ ...row, kind });
    live.put({
      ...{ seq: cache.known.nextSeq(), destination, id, kind, urgency: priorityOf(kind), data, size },
      // If the row cannot be read, the claim sets it aside.
      endpoint: event ? endpointOf(event) : "lead/payment",
      click_id: event?.data.clickId ?? null,
      session_id: event?.data.sessionId ?? null,
      ...{ created_at: at, queued_at: at, history: null, interrupted: 0 },
    });
  }

  function cancelOne(destination: number, id: string): boolean {
    const row: ScheduledRow | undefined = take.get(id, destination);
    if (!row) return false;
    count(row, -1);
    ids.keepCancelled(row.destination, id);
    return true;
  }

  return {
    put(row: Omit<ScheduledRow, "seq">): void {
      put.run(row.destination, row.id, row.not_before, row.created_at, row.size, row.data);
      count(row, 1);
    },
    /** Moves due payments into their visitors' queues. Returns whether there were any. */
    release(now: number, most = RELEASED_AT_ONCE): boolean {
      let isAnyDue = false;
      for (const destination of cache.known.totals.destinations) {
        if ((nextOf(destination) ?? now + 1) > now) continue;
        const due: ScheduledRow[] = takeDue.all(destination, now, most);
        due.sort((one, other) => one.not_before - other.not_before || one.seq - other.seq);
        for (const row of due) {
          count(row, -1);
          enqueue(row);
        }
        isAnyDue = true;
      }
      return isAnyDue;
    },
    /** Takes one out as cancelled. Returns whether there was one. */
    take: cancelOne,
    cancel(destination: number, id: string): CancelOutcome {
      cancelOne(destination, id);
      if (ids.isCancelled(destination, id)) return "cancelled";
      return ids.isKnown(destination, id) ? "sent" : "unknown";
    },
    countOf: (destination: number): ScheduledCount => ({
      count: cache.known.totals.rows(destination, "scheduled"),
      next: nextOf(destination),
    }),
    /** When the next one of any destination is due. */
    get nextAt(): number | null {
      return earliestOf(cache.known.totals.destinations.map(nextOf));
    },
  };
}
