import type { DeadLetter, Death } from "../outbox.js";
import type { KnownIds } from "./known-ids.js";
import { type EventRow, eventOf, type LiveEvents } from "./live-events.js";
import type { Dropped } from "./protocol.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";

const STATEMENTS = {
  bury: `
    insert into dead_letters
      (id, kind, data, created_at, size, attempts, maybe_taken, reason, status, code, message, died_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  take: "delete from dead_letters where id = ? returning *",
  takeOldest: "delete from dead_letters where seq = (select min(seq) from dead_letters) returning *",
  list: "select * from dead_letters order by seq limit ?",
  all: "select id from dead_letters order by created_at, seq",
} as const;

interface LetterRow extends Omit<EventRow, "seq" | "click_id" | "session_id" | "queued_at" | "interrupted"> {
  readonly reason: Death["reason"];
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly died_at: number;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** The events that were given up, until somebody decides. */
export function createDeadLetters(
  db: Database,
  parts: { totals: Totals; ids: KnownIds; live: LiveEvents; max: number; drop: (dropped: Dropped) => void },
) {
  const { totals, ids, live, max, drop } = parts;
  const { bury, take, takeOldest, list, all } = prepareAll(db, STATEMENTS);

  function evictOldest(): void {
    const row: LetterRow = takeOldest.get();
    totals.add(row.reason, -1, -row.size);
    ids.forget(row.id);
    drop({ event: eventOf(row), reason: "dead-letters-full" });
  }

  function insert(row: LetterRow): void {
    const { id, kind, data, created_at, size, attempts, maybe_taken } = row;
    const { reason, status, code, message, died_at } = row;
    bury.run(id, kind, data, created_at, size, attempts, maybe_taken, reason, status, code, message, died_at);
    totals.add(reason, 1, size);
  }

  return {
    bury(row: EventRow, { reason, status, code, message, attempts }: Death, now: number): void {
      insert({
        ...row,
        reason,
        attempts,
        status: status ?? null,
        code: code ?? null,
        message: message ?? null,
        died_at: now,
      });
      if (totals.rows("rejected") + totals.rows("unconfirmed") + totals.rows("expired") > max) evictOldest();
    },
    take(id: string): boolean {
      const row: LetterRow | undefined = take.get(id);
      if (row) totals.add(row.reason, -1, -row.size);
      return row !== undefined;
    },
    /** Queues it again, as the last of its visitor's; `false` where there is none, or no room. */
    retry(id: string, now: number): boolean {
      const row: LetterRow | undefined = take.get(id);
      if (!row) return false;
      totals.add(row.reason, -1, -row.size);
      const maybeTaken = row.maybe_taken === 1 || row.reason === "unconfirmed";
      const history = { queuedAt: now, maybeTaken, size: row.size };
      if (live.insert(eventOf(row), row.data, history, now)) return true;
      insert(row);
      return false;
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
