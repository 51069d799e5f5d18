import type { EventKind, OutboxEvent } from "../../events.js";
import { endpointOf } from "../../service/endpoints.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { kindsBelow, shedFor } from "../shedding.js";
import type { Destinations } from "./destinations.js";
import type { KnownIds } from "./known-ids.js";
import type { Lines } from "./lines.js";
import type { Claimed, Dropped } from "./protocol.js";
import { type EventRow, eventOf, sizeOnDisk } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

export const STATEMENTS = {
  // Behind the last, and behind all that have ever lined up: what a process still holds is never taken for another event.
  append: `
    insert into events
      (seq, destination, id, kind, endpoint, click_id, session_id, data, created_at, queued_at, size, history)
    values (
      max(ifnull((select max(seq) from events), 0), (select to_seq from lined_up)) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    )`,
  // By both: in a file that was begun anew, another event may be in its place.
  remove: "delete from events where seq = ? and id = ? returning *",
  removeOwn: "delete from events where seq = ? and id = ? and claimed_by = ? returning *",
  shed: "delete from events where seq = ? returning *",
  sheddable: `
    select seq, size from events
    where destination = ? and kind = ? and claimed_by is null and seq > ? order by seq limit 1`,
  clicks: `
    select count(*) as number from (
      select 1 from events where destination = ? and kind = 'click' and coalesce(session_id, click_id) = ?
      limit ${CLICKS_OF_A_VISITOR}
    )`,
  oldestClick: `
    select seq, size from events
    where destination = ? and kind = 'click' and coalesce(session_id, click_id) = ? and claimed_by is null
    order by seq limit 1`,
  oldest: "select created_at from events where destination = ? and kind = ? order by seq limit 1",
} as const;

/** What may give way to another event. */
interface Sheddable {
  readonly seq: number;
  readonly size: number;
}

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The events that wait or are under way. */
export function createLiveEvents(
  db: Database,
  parts: {
    destinations: Destinations;
    totals: Totals;
    ids: KnownIds;
    lines: Lines;
    unreadable: Unreadable;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { destinations, totals, ids, lines, unreadable, maxBytes, drop } = parts;
  const statements = prepareAll(db, STATEMENTS);
  const { append, remove, removeOwn, shed, sheddable, clicks, oldestClick, oldest } = statements;

  /** Returns `false`, and sheds nothing, where the file is too full for the event. */
  function insert(
    event: OutboxEvent,
    json: string,
    { queuedAt, size, history }: { queuedAt: number; history: string | null; size: number },
    now: number,
  ): boolean {
    const { id, kind, data, createdAt } = event;
    const destination = destinations.numberOf(event.destination);
    if (!makeSpace(event, destination, size, now)) return false;
    const { clickId = null, sessionId = null } = data;
    append.run(
      ...[destination, id, kind, endpointOf(event), clickId, sessionId, json],
      ...[createdAt, queuedAt, size, history],
    );
    totals.add(destination, kind, 1, size);
    return true;
  }

  function makeSpace(event: OutboxEvent, destination: number, size: number, now: number): boolean {
    const { kind } = event;
    const fits = (freed: number) => totals.bytes() - freed + size <= maxBytes;
    const crowded = kind === "click" ? crowdedOut(event, destination) : undefined;
    if (crowded) {
      // One click of a visitor's for another: no other event has to give way to it.
      if (!fits(crowded.size)) return false;
      discard(crowded, "visitor-full", now);
      return true;
    }
    // Even all that gives way would not be enough: no need to look at it.
    if (!fits(totals.bytes(...kindsBelow(kind)))) return false;
    return shedFor(kind, {
      oldestFirst,
      isEnough: (_, freed) => fits(freed),
      shed: (each) => discard(each, "full", now),
    });
  }

  /** The visitor's click that gives way to this one. */
  function crowdedOut({ data }: OutboxEvent, destination: number): Sheddable | undefined {
    if (totals.rows(destination, "click") < CLICKS_OF_A_VISITOR) return undefined;
    const visitor = data.sessionId ?? data.clickId ?? "";
    if (clicks.get(destination, visitor).number < CLICKS_OF_A_VISITOR) return undefined;
    return oldestClick.get(destination, visitor);
  }

  /** The events of a kind that may give way, of all destinations. */
  function* oldestFirst(kind: EventKind): Generator<Sheddable> {
    const own = totals.destinations.filter((each) => totals.rows(each, kind) > 0);
    for (let after = 0; ; ) {
      let first: Sheddable | undefined;
      for (const destination of own) {
        const found: Sheddable | undefined = sheddable.get(destination, kind, after);
        if (found && (!first || found.seq < first.seq)) first = found;
      }
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function discard({ seq }: Sheddable, reason: Dropped["reason"], now: number): void {
    const row: EventRow = shed.get(seq);
    left(row, now);
    ids.forget(row.destination, row.id);
    const event = eventOf(row, destinations.nameOf(row.destination));
    if (event) drop({ event, reason });
    else unreadable.onFound(row.id);
  }

  /** What follows from a row's end: the visitor's next event has its turn. */
  function left(row: EventRow, now: number): void {
    totals.add(row.destination, row.kind, -1, -row.size);
    lines.leave(row, now);
  }

  return {
    insert,
    append(event: OutboxEvent, now: number): "queued" | "duplicate" | "full" {
      const destination = destinations.numberOf(event.destination);
      if (!ids.learn(destination, event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const size = sizeOnDisk(event, json);
      if (insert(event, json, { queuedAt: event.createdAt, history: null, size }, now)) return "queued";
      ids.forget(destination, event.id);
      return "full";
    },
    /** Takes it out, even if another process has claimed it meanwhile. */
    remove({ seq, id }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = remove.get(seq, id);
      if (row) left(row, now);
      return row;
    },
    /** Takes it out, unless another process has claimed it meanwhile. */
    removeOwn({ seq, id, owner: by }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = removeOwn.get(seq, id, by);
      if (row) left(row, now);
      return row;
    },
    /** When the oldest of a kind happened; `null` where there is none. */
    oldest: (destination: number, kind: EventKind): number | null =>
      totals.rows(destination, kind) > 0 ? (oldest.get(destination, kind)?.created_at ?? null) : null,
  };
}
