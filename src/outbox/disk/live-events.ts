import type { EventKind, OutboxEvent } from "../../events.js";
import { kindsBelow, SHEDDING_ORDER } from "../outbox.js";
import type { DiskClaim, Dropped, Row } from "./protocol.js";
import type { Database, Value } from "./sqlite.js";
import type { Totals } from "./totals.js";

const PAGE_BYTES = 4_096;

/** Rows as they leave the table. */
export interface EventRow {
  readonly id: string;
  readonly kind: EventKind;
  readonly click_id: string | null;
  readonly session_id: string | null;
  readonly data: string;
  readonly created_at: number;
  readonly queued_at: number;
  readonly size: number;
  readonly attempts: number;
  readonly maybe_taken: number;
  readonly interrupted: number;
}

// The oldest of those that share an id of the visitor with the row at hand.
const isFirstOf = (column: string) =>
  `(${column} is null or seq = (select e.seq from events e where e.${column} = events.${column} order by e.seq limit 1))`;

export const STATEMENTS = {
  append: `
    insert into events (id, kind, click_id, session_id, data, created_at, queued_at, size, maybe_taken, ready_at)
    select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
      case when exists (select 1 from events where click_id = ?3)
             or exists (select 1 from events where session_id = ?4) then null else ?10 end
    where not exists (select 1 from delivered where id = ?1) and not exists (select 1 from dead_letters where id = ?1)
    on conflict (id) do nothing`,
  claim: `
    update events set claimed_by = ?1, pulse = ?2, ready_at = null
    where seq in (select seq from events where ready_at <= ?3 order by ready_at, seq limit ?4)
    returning seq, id, kind, data, created_at, queued_at, attempts, maybe_taken, interrupted`,
  rest: `
    update events
    set claimed_by = null, pulse = null, interrupted = interrupted and not ?4, maybe_taken = ?3, attempts = attempts + ?4,
      ready_at = ?5
    where id = ?1 and claimed_by = ?2`,
  remove: "delete from events where id = ? returning *",
  removeOwn: "delete from events where id = ? and claimed_by = ? returning *",
  unblock: `
    update events set ready_at = ?3
    where seq in (
      (select seq from events where click_id = ?1 order by seq limit 1),
      (select seq from events where session_id = ?2 order by seq limit 1)
    ) and ready_at is null and claimed_by is null and ${isFirstOf("click_id")} and ${isFirstOf("session_id")}`,
  shed: `
    delete from events where seq = (
      select seq from events where kind = ? and claimed_by is null and kind <> 'payment' order by seq limit 1
    ) returning *`,
  oldest: "select created_at from events order by seq limit 1",
  nextReady: "select ready_at from events where ready_at is not null order by ready_at limit 1",
} as const;

export type LiveEvents = ReturnType<typeof createLiveEvents>;

/** The events that wait or are under way. A row that is at the head of its visitor's line has a time at which it is ready. */
export function createLiveEvents(
  db: Database,
  {
    totals,
    owner,
    room,
    drop,
  }: { totals: Totals; owner: string; room: number; drop: (dropped: Dropped) => void },
) {
  const { append, claim, rest, remove, removeOwn, unblock, shed, oldest, nextReady } = prepareAll(
    db,
    STATEMENTS,
  );

  function insert(row: Row, history: { queuedAt: number; maybeTaken: boolean; size: number }, now: number) {
    if (!makeRoom(row.kind as EventKind, history.size, now)) return "full";
    const { id, kind, clickId, sessionId, data, createdAt } = row;
    const { queuedAt, size, maybeTaken } = history;
    const values: Value[] = [id, kind, clickId, sessionId, data, createdAt, queuedAt, size, +maybeTaken, now];
    if (append.run(...values).changes === 0) return "duplicate";
    totals.add(kind, 1, size);
    return "queued";
  }

  function makeRoom(kind: EventKind, size: number, now: number): boolean {
    while (totals.bytes(...SHEDDING_ORDER, "rejected", "unconfirmed", "expired") + size > room) {
      const victim = oldestBelow(kind);
      if (!victim) return false;
      left(victim, now);
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
    unblock.run(row.click_id, row.session_id, now);
  }

  return {
    insert,
    append: (row: Row, now: number) =>
      insert(row, { queuedAt: row.createdAt, maybeTaken: false, size: sizeOnDisk(row) }, now),
    claim(limit: number, pulse: number, now: number): DiskClaim[] {
      const rows: (EventRow & { seq: number })[] = claim.all(owner, pulse, now, limit);
      return rows
        .sort((a, b) => a.seq - b.seq)
        .map((row) => ({
          event: eventOf(row),
          attempts: row.attempts,
          maybeTaken: row.maybe_taken === 1,
          interrupted: row.interrupted === 1,
          queuedAt: row.queued_at,
          owner,
        }));
    },
    /** Gives a claimed event back, to be ready again at `readyAt`. */
    rest(id: string, by: string, how: { maybeTaken: boolean; failed: boolean; readyAt: number }): void {
      rest.run(id, by, +how.maybeTaken, +how.failed, Math.ceil(how.readyAt));
    },
    /** Takes it out, whoever has claimed it; or, with `by`, only if that one has. */
    remove(id: string, now: number, by?: string): EventRow | undefined {
      const row = by === undefined ? remove.get(id) : removeOwn.get(id, by);
      if (row) left(row, now);
      return row;
    },
    oldest: (): number | null => oldest.get()?.created_at ?? null,
    nextReadyAt: (): number | null => nextReady.get()?.ready_at ?? null,
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

/** How many bytes a row takes in the file, its entries in the indexes included: rather more than less. */
function sizeOnDisk({ id, data, clickId, sessionId }: Row): number {
  const ids = id.length + (clickId?.length ?? 0) + (sessionId?.length ?? 0);
  const row = 80 + ids + Buffer.byteLength(data);
  // A leaf of an index is two thirds full on average; a row that is a third of a page or longer may have one to itself.
  const inIndexes = 1.5 * (60 + ids);
  return Math.ceil(
    inIndexes + (row < PAGE_BYTES / 3 ? 1.25 * row : PAGE_BYTES * Math.ceil((row + 600) / PAGE_BYTES)),
  );
}

export function prepareAll<Name extends string>(db: Database, statements: Readonly<Record<Name, string>>) {
  const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, db.prepare(sql)]);
  return Object.fromEntries(prepared) as Record<Name, ReturnType<Database["prepare"]>>;
}
