import { type DeadLetter, type Death, UNTRIED } from "../outbox.js";
import type { Delivered } from "./delivered.js";
import { type EventRow, eventOf, type LiveEvents } from "./live-events.js";
import type { Dropped } from "./protocol.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

const STATEMENTS = {
  keep: `
    insert into dead_letters
      (id, kind, data, created_at, size, attempts, history, reason, status, code, message, died_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  take: "delete from dead_letters where id = ? returning *",
  takeInterrupted: `
    delete from dead_letters where id = ? and reason = 'unconfirmed' and code = 'ERR_INTERRUPTED' returning *`,
  takeOldest: "delete from dead_letters where seq = (select min(seq) from dead_letters) returning *",
  list: "select * from dead_letters order by seq limit ?",
  all: "select id from dead_letters order by created_at, seq",
} as const;

interface LetterRow extends Omit<EventRow, "seq" | "click_id" | "session_id" | "queued_at" | "interrupted"> {
  readonly attempts: number;
  readonly reason: Death["reason"];
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly died_at: number;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** The events that were given up, until an operator decides. */
export function createDeadLetters(
  db: Database,
  parts: {
    totals: Totals;
    delivered: Delivered;
    live: LiveEvents;
    max: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { totals, delivered, live, max, drop } = parts;
  const { keep, take, takeInterrupted, takeOldest, list, all } = prepareAll(db, STATEMENTS);

  function evictOldest(now: number): void {
    const row: LetterRow = takeOldest.get();
    totals.add(row.reason, -1, -row.size);
    // Still known for as long as if it had been delivered: reported again, it must not be sent.
    delivered.add(row.id, now);
    drop({ event: eventOf(row), reason: "dead-letters-full" });
  }

  function insert(row: LetterRow): void {
    const { id, kind, data, created_at, size, attempts, history } = row;
    const { reason, status, code, message, died_at } = row;
    keep.run(id, kind, data, created_at, size, attempts, history, reason, status, code, message, died_at);
    totals.add(reason, 1, size);
  }

  function requeue(row: LetterRow, history: string | null, now: number): boolean {
    totals.add(row.reason, -1, -row.size);
    if (live.insert(eventOf(row), row.data, { queuedAt: now, history, size: row.size }, now)) return true;
    insert(row);
    return false;
  }

  return {
    keep(row: EventRow, { reason, status, code, message, attempts }: Death, now: number): void {
      insert({
        ...row,
        reason,
        attempts,
        status: status ?? null,
        code: code ?? null,
        message: message ?? null,
        died_at: now,
      });
      if (totals.rows("rejected") + totals.rows("unconfirmed") + totals.rows("expired") > max)
        evictOldest(now);
    },
    take(id: string): boolean {
      const row: LetterRow | undefined = take.get(id);
      if (row) totals.add(row.reason, -1, -row.size);
      return row !== undefined;
    },
    /** Queues it again, as the last of its visitor's; `false` where there is none, or the file is full. */
    retry(id: string, now: number): boolean {
      const row: LetterRow | undefined = take.get(id);
      if (!row) return false;
      const mayBeTaken = row.reason === "unconfirmed" || (row.history && JSON.parse(row.history).maybeTaken);
      return requeue(row, mayBeTaken ? JSON.stringify({ ...UNTRIED, maybeTaken: true }) : null, now);
    },
    /** Queues it again as it was: it was held for an attempt that, as is known now, was never made. */
    retryInterrupted(id: string, now: number): void {
      const row: LetterRow | undefined = takeInterrupted.get(id);
      if (row) requeue(row, row.history, now);
    },
    ids: (): string[] => all.all().map(({ id }) => id),
    list: (limit: number): DeadLetter[] => list.all(limit).map(letterOf),
  };
}

function letterOf(row: LetterRow): DeadLetter {
  const { id, kind, data: event, createdAt } = eventOf(row);
  const { reason, attempts, status, code, message, died_at: diedAt } = row;
  return {
    id,
    kind,
    event,
    createdAt,
    reason,
    attempts,
    ...(status !== null && { status }),
    ...(code !== null && { code }),
    ...(message !== null && { message }),
    diedAt,
  };
}
