import { objectFromJson } from "../../shared/json.js";
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterQuery,
  type DeadLetterSum,
  type Death,
  eventOrUnreadable,
  isMeant,
  isRetried,
} from "../dead-letters.js";
import { type History, UNTRIED } from "../outbox.js";
import type { Delivered } from "./delivered.js";
import type { Destinations } from "./destinations.js";
import type { Group, LetterRow, LetterRows } from "./letter-rows.js";
import type { LiveEvents } from "./live-events.js";
import type { Claimed, Letter } from "./protocol.js";
import { type EventRow, eventFromRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

export const STATEMENTS = {
  list: "select * from dead_letters where destination = ? and kind = ? and reason = ? order by seq limit ?",
  ids: "select id, created_at, seq from dead_letters where destination = ? and kind = ? and reason = ?",
  amount: "select sum(amount) as amount from dead_letters where destination = ? and kind = ? and reason = ?",
} as const;

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** The events that were given up, until an operator decides. */
export function createDeadLetters(
  db: Database,
  parts: { destinations: Destinations; delivered: Delivered; live: LiveEvents; letters: LetterRows },
) {
  const { destinations, delivered, live, letters } = parts;
  const { list, ids, amount } = prepareAll(db, STATEMENTS);

  function groupsOf(filter: DeadLetterFilter, destination?: string): Group[] {
    return letters.groupsOf(destination).filter((each) => isMeant(each, filter));
  }

  /** Queues an event again that was taken out. Returns `false` if that is impossible: it stays a dead letter. */
  function requeue(row: LetterRow, history: string | null, now: number): boolean {
    const event = eventFromRow(row, destinations.nameOf(row.destination));
    const size = row.size - sizeOfWords(row);
    if (event && live.insert(event, row.data, { queuedAt: now, history, size }, now)) return true;
    letters.put(row);
    return false;
  }

  return {
    keep(row: EventRow, { reason, status, code, message, attempts }: Death, now: number): void {
      const words = { code: code ?? null, message: message ?? null };
      const size = row.size + sizeOfWords(words);
      const { leadValue } = (objectFromJson(row.data) ?? {}) as { readonly leadValue?: unknown };
      const value = typeof leadValue === "number" ? leadValue : null;
      const death = { ...words, reason, attempts, status: status ?? null, died_at: now };
      letters.keep({ ...row, ...death, size, amount: value });
    },
    /** Takes it out, and remembers its id. */
    discard(letter: Letter): boolean {
      const rows = letters.take(letter);
      for (const row of rows) delivered.add(row.destination, row.kind, row.id);
      return rows.length > 0;
    },
    /** Queues it again, as the last of its visitor's; `false` where there is none, or the file is full. */
    retry(letter: Letter, now: number): boolean {
      const queued = letters.take(letter).filter((row) => {
        const mayBeTaken =
          // A history that cannot be read is in doubt.
          row.reason === "unconfirmed" ||
          (row.history && (objectFromJson(row.history) as History)?.maybeTaken !== false);
        return requeue(row, mayBeTaken ? JSON.stringify({ ...UNTRIED, maybeTaken: true }) : null, now);
      });
      return queued.length > 0;
    },
    /** Requeues an `unconfirmed` event that was never sent. */
    retryInterrupted(claimed: Claimed, now: number): void {
      const row = letters.takeInterrupted(claimed);
      if (row) requeue(row, row.history, now);
    },
    /** Those that `retryAll` means, in the order in which they happened. */
    retried(filter: DeadLetterFilter, destination?: string): Letter[] {
      const groups = letters.groupsOf(destination).filter((each) => isRetried(each, filter));
      const found = groups.flatMap((each) => {
        const name = destinations.nameOf(each.destination);
        return ids
          .all(each.destination, each.kind, each.reason)
          .map((row) => ({ ...row, destination: name }));
      });
      found.sort((a, b) => a.created_at - b.created_at || a.seq - b.seq);
      return found.map(({ id, destination: name }) => ({ id, destination: name }));
    },
    /** Counts and sums of the letters that a filter means; no letter is read. */
    sums: (filter: DeadLetterFilter, destination?: string): DeadLetterSum[] =>
      groupsOf(filter, destination).map((each) => ({
        kind: each.kind,
        reason: each.reason,
        count: letters.rowsOf(each),
        amount: amount.get(each.destination, each.kind, each.reason).amount ?? 0,
      })),
    /** The ids of those that are meant, oldest first. */
    ids(filter: DeadLetterFilter, destination?: string): string[] {
      const found = groupsOf(filter, destination).flatMap((each) =>
        ids.all(each.destination, each.kind, each.reason),
      );
      return found.sort((a, b) => a.seq - b.seq).map(({ id }) => id);
    },
    list({ limit = 100, ...filter }: DeadLetterQuery, destination?: string): DeadLetter[] {
      const groups = groupsOf(filter, destination);
      const rows: LetterRow[] = groups.flatMap((each) =>
        list.all(each.destination, each.kind, each.reason, limit),
      );
      rows.sort((a, b) => a.seq - b.seq);
      return rows.slice(0, limit).map((row) => letterOf(row, destinations.nameOf(row.destination)));
    },
  };
}

/** The bytes of a death's code and message. */
function sizeOfWords({ code, message }: Pick<LetterRow, "code" | "message">): number {
  return Buffer.byteLength(code ?? "") + Buffer.byteLength(message ?? "");
}

function letterOf(row: LetterRow, destination: string): DeadLetter {
  const { id, kind, created_at: createdAt } = row;
  const event = eventFromRow(row, destination)?.data;
  const { reason, attempts, status, code, message, died_at: diedAt } = row;
  return {
    id,
    destination,
    kind,
    ...eventOrUnreadable(event),
    createdAt,
    reason,
    attempts,
    ...(status !== null && { status }),
    ...(code !== null && { code }),
    ...(message !== null && { message }),
    diedAt,
  };
}
