import type { EventKind, OutboxEvent } from "../../events.js";
import { kindsBelow, SHEDDING_ORDER } from "../outbox.js";
import type { KnownIds } from "./known-ids.js";
import type { Lines, Placed } from "./lines.js";
import type { Claimed, DiskClaim, Dropped } from "./protocol.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

const PAGE_BYTES = 4_096;
const LINED_UP_AT_ONCE = 256;
// Then the transaction has been long enough, should all of them belong to visitors who have to wait.
const TIMES = 4;

/** Rows as they leave the table. */
export interface EventRow extends Placed {
  readonly id: string;
  readonly kind: EventKind;
  readonly data: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly size: number;
  readonly attempts: number;
  readonly maybe_taken: number;
  readonly interrupted: number;
}

export const STATEMENTS = {
  // Behind the last, and behind all that have ever lined up: what somebody still holds is never taken for another event.
  append: `
    insert into events (seq, id, kind, click_id, session_id, data, created_at, queued_at, size, maybe_taken)
    values (max(ifnull((select max(seq) from events), 0), (select to_seq from lined_up)) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  claim: `
    update events set claimed_by = ?1, pulse = ?2, ready_at = null
    where seq in (select seq from events where ready_at <= ?3 order by ready_at, seq limit ?4)
    returning seq, id, kind, data, created_at, queued_at, attempts, maybe_taken, interrupted`,
  rest: `
    update events
    set claimed_by = null, pulse = null, interrupted = interrupted and not ?4, maybe_taken = ?3, attempts = attempts + ?4,
      ready_at = ?5
    where seq = ?1 and id = ?6 and claimed_by = ?2`,
  // By both: in a file that was begun anew, another event may be in its place.
  remove: "delete from events where seq = ? and id = ? returning *",
  removeOwn: "delete from events where seq = ? and id = ? and claimed_by = ? returning *",
  shed: `
    delete from events where seq = (
      select seq from events where kind = ? and claimed_by is null and kind <> 'payment' order by seq limit 1
    ) returning *`,
  oldest: "select created_at from events order by seq limit 1",
  nextReady: "select ready_at from events where ready_at is not null order by ready_at limit 1",
} as const;

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The events that wait or are under way. One that is at the head of its visitor's line has a time at which it is ready. */
export function createLiveEvents(
  db: Database,
  parts: {
    totals: Totals;
    ids: KnownIds;
    lines: Lines;
    owner: string;
    room: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { totals, ids, lines, owner, room, drop } = parts;
  const { append, claim, rest, remove, removeOwn, shed, oldest, nextReady } = prepareAll(db, STATEMENTS);

  /** Returns whether there was room. */
  function insert(
    { id, kind, data, createdAt }: OutboxEvent,
    json: string,
    { queuedAt, size, maybeTaken }: { queuedAt: number; maybeTaken: boolean; size: number },
    now: number,
  ): boolean {
    if (!makeRoom(kind, size, now)) return false;
    const { clickId = null, sessionId = null } = data;
    append.run(id, kind, clickId, sessionId, json, createdAt, queuedAt, size, +maybeTaken);
    totals.add(kind, 1, size);
    return true;
  }

  function makeRoom(kind: EventKind, size: number, now: number): boolean {
    while (totals.bytes(...SHEDDING_ORDER, "rejected", "unconfirmed", "expired") + size > room) {
      const victim = oldestBelow(kind);
      if (!victim) return false;
      left(victim, now);
      ids.forget(victim.id);
      drop({ event: eventOf(victim), reason: "full" });
    }
    return true;
  }

  function oldestBelow(kind: EventKind): EventRow | undefined {
    for (const lower of kindsBelow(kind)) {
      const row = totals.rows(lower) > 0 ? shed.get(lower) : undefined;
      if (row) return row;
    }
    return undefined;
  }

  /** What follows from a row's end: the visitor's next event has its turn. */
  function left(row: EventRow, now: number): void {
    totals.add(row.kind, -1, -row.size);
    lines.leave(row, now);
  }

  return {
    insert,
    append(event: OutboxEvent, now: number): "queued" | "duplicate" | "full" {
      if (!ids.learn(event.id)) return "duplicate";
      const json = JSON.stringify(event.data);
      const history = { queuedAt: event.createdAt, maybeTaken: false, size: sizeOnDisk(event, json) };
      if (insert(event, json, history, now)) return "queued";
      ids.forget(event.id);
      return "full";
    },
    claim(limit: number, pulse: number, now: number): DiskClaim[] {
      const rows: EventRow[] = claim.all(owner, pulse, now, limit);
      for (let time = 0; rows.length < limit && time < TIMES; time++) {
        if (lines.lineUp(LINED_UP_AT_ONCE, now) === 0) break;
        rows.push(...claim.all(owner, pulse, now, limit - rows.length));
      }
      return rows
        .sort((a, b) => a.seq - b.seq)
        .map((row) => ({
          event: eventOf(row),
          attempts: row.attempts,
          maybeTaken: row.maybe_taken === 1,
          interrupted: row.interrupted === 1,
          queuedAt: row.queued_at,
          seq: row.seq,
          owner,
        }));
    },
    /** Gives a claimed event back, to be ready again at `readyAt`. */
    rest(
      { seq, id, owner: by }: Claimed,
      how: { maybeTaken: boolean; failed: boolean; readyAt: number },
    ): void {
      rest.run(seq, by, +how.maybeTaken, +how.failed, Math.ceil(how.readyAt), id);
    },
    /** Takes it out, whoever has claimed it meanwhile. */
    remove({ seq, id }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = remove.get(seq, id);
      if (row) left(row, now);
      return row;
    },
    /** Takes it out, unless somebody else has claimed it meanwhile. */
    removeOwn({ seq, id, owner: by }: Claimed, now: number): EventRow | undefined {
      const row: EventRow | undefined = removeOwn.get(seq, id, by);
      if (row) left(row, now);
      return row;
    },
    oldest: (): number | null => oldest.get()?.created_at ?? null,
    /** What is not lined up yet may be ready now. */
    nextReadyAt: (now: number): number | null =>
      lines.hasMore() ? now : (nextReady.get()?.ready_at ?? null),
  };
}

export function eventOf({
  id,
  kind,
  data,
  created_at,
}: Pick<EventRow, "id" | "kind" | "data" | "created_at">) {
  return { id, kind, data: JSON.parse(data), createdAt: created_at } as OutboxEvent;
}

/** How many bytes a row takes in the file, with its id and its places in line: rather more than less. */
function sizeOnDisk({ id, data }: OutboxEvent, json: string): number {
  const visitor = (data.clickId?.length ?? 0) + (data.sessionId?.length ?? 0);
  const row = 80 + id.length + visitor + Buffer.byteLength(json);
  // A leaf of an index is two thirds full on average; a row that is a third of a page or longer may have one to itself.
  const aside = 1.5 * (80 + visitor);
  return Math.ceil(
    aside + (row < PAGE_BYTES / 3 ? 1.25 * row : PAGE_BYTES * Math.ceil((row + 600) / PAGE_BYTES)),
  );
}
