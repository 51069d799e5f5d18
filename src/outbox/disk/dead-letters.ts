import type { EventKind } from "../../events.js";
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterQuery,
  type Death,
  type DeathReason,
  isMeant,
  isRetried,
} from "../dead-letters.js";
import { type History, UNTRIED } from "../outbox.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Delivered } from "./delivered.js";
import type { Destinations } from "./destinations.js";
import type { LiveEvents } from "./live-events.js";
import type { Claimed, Dropped, Letter } from "./protocol.js";
import { type EventRow, eventOf, parsedOf } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

export const STATEMENTS = {
  // A place of null is the next.
  keep: `
    insert into dead_letters (
      seq, destination, id, kind, data, created_at, size, attempts, history, reason, status, code, message, died_at
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  take: "delete from dead_letters where id = ?1 and destination = ?2 returning *",
  takeInterrupted: `
    delete from dead_letters
    where id = ? and destination = ? and reason = 'unconfirmed' and code = 'ERR_INTERRUPTED' returning *`,
  first:
    "select seq from dead_letters where destination = ? and kind = ? and reason = ? order by seq limit 1",
  evict: "delete from dead_letters where seq = ? returning *",
  list: "select * from dead_letters where destination = ? and kind = ? and reason = ? order by seq limit ?",
  ids: "select id, created_at, seq from dead_letters where destination = ? and kind = ? and reason = ?",
} as const;

const REASONS: readonly DeathReason[] = ["rejected", "unconfirmed", "expired"];

interface LetterRow extends Omit<EventRow, "click_id" | "session_id" | "queued_at" | "interrupted"> {
  readonly attempts: number;
  readonly reason: Death["reason"];
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly died_at: number;
}

/** Dead letters that are found by one look at an index. */
interface Group {
  readonly destination: number;
  readonly kind: EventKind;
  readonly reason: DeathReason;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** The events that were given up, until an operator decides. */
export function createDeadLetters(
  db: Database,
  parts: {
    destinations: Destinations;
    totals: Totals;
    delivered: Delivered;
    live: LiveEvents;
    unreadable: Unreadable;
    max: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { destinations, totals, delivered, live, unreadable, max, drop } = parts;
  const { keep, take, takeInterrupted, first, evict, list, ids } = prepareAll(db, STATEMENTS);

  /** Those of one destination, or of all, of which there are any. */
  function groupsOf(destination?: string): Group[] {
    const numbers = destination === undefined ? totals.destinations : [destinations.numberOf(destination)];
    const groups = numbers.flatMap((each) =>
      SHEDDING_ORDER.flatMap((kind) => REASONS.map((reason) => ({ destination: each, kind, reason }))),
    );
    return groups.filter((each) => rowsOf(each) > 0);
  }

  function rowsOf({ destination, kind, reason }: Group): number {
    return totals.rows(destination, `${kind} ${reason}`);
  }

  function count({ destination, kind, reason, size }: LetterRow, rows: 1 | -1): void {
    totals.add(destination, `${kind} ${reason}`, rows, rows * size);
  }

  /** The oldest of the kind that matters least gives way, where there are too many. */
  function evictOne(): void {
    const groups = groupsOf();
    if (groups.reduce((sum, each) => sum + rowsOf(each), 0) <= max) return;
    const least = SHEDDING_ORDER.find((kind) => groups.some((each) => each.kind === kind));
    const firsts = groups
      .filter(({ kind }) => kind === least)
      .map(({ destination, kind, reason }) => first.get(destination, kind, reason).seq);
    const row: LetterRow = evict.get(Math.min(...firsts));
    count(row, -1);
    // Still known for as long as if it had been delivered: reported again, it must not be sent.
    delivered.add(row.destination, row.kind, row.id);
    const event = eventOf(row, destinations.nameOf(row.destination));
    if (event) drop({ event, reason: "dead-letters-full" });
    else unreadable.onFound(row.id);
  }

  function requeue(row: LetterRow, history: string | null, now: number): boolean {
    count(row, -1);
    const event = eventOf(row, destinations.nameOf(row.destination));
    if (event && live.insert(event, row.data, { queuedAt: now, history, size: row.size }, now)) return true;
    keep.run(row.seq, ...valuesOf(row));
    count(row, 1);
    return false;
  }

  /** Those with this id, of one destination or of all. */
  function taken({ id, destination }: Letter): LetterRow[] {
    const numbers = destination === undefined ? totals.destinations : [destinations.numberOf(destination)];
    return numbers.flatMap((each) => take.all(id, each));
  }

  return {
    keep(row: EventRow, { reason, status, code, message, attempts }: Death, now: number): void {
      const letter: LetterRow = {
        ...row,
        reason,
        attempts,
        status: status ?? null,
        code: code ?? null,
        message: message ?? null,
        died_at: now,
      };
      keep.run(null, ...valuesOf(letter));
      count(letter, 1);
      evictOne();
    },
    /** Takes it out, and remembers its id. */
    discard(letter: Letter): boolean {
      const rows = taken(letter);
      for (const row of rows) {
        count(row, -1);
        delivered.add(row.destination, row.kind, row.id);
      }
      return rows.length > 0;
    },
    /** Queues it again, as the last of its visitor's; `false` where there is none, or the file is full. */
    retry(letter: Letter, now: number): boolean {
      const queued = taken(letter).filter((row) => {
        const mayBeTaken =
          // A history that cannot be read may say so.
          row.reason === "unconfirmed" ||
          (row.history && (parsedOf(row.history) as History)?.maybeTaken !== false);
        return requeue(row, mayBeTaken ? JSON.stringify({ ...UNTRIED, maybeTaken: true }) : null, now);
      });
      return queued.length > 0;
    },
    /** Queues it again as it was: it was held for an attempt that, as is known now, was never made. */
    retryInterrupted({ id, destination }: Claimed, now: number): void {
      const row: LetterRow | undefined = takeInterrupted.get(id, destinations.numberOf(destination));
      if (row) requeue(row, row.history, now);
    },
    /** Those that `retryAll` means, in the order in which they happened. */
    retried(filter: DeadLetterFilter, destination?: string): Letter[] {
      const groups = groupsOf(destination).filter((each) => isRetried(each, filter));
      const found = groups.flatMap((each) => {
        const name = destinations.nameOf(each.destination);
        return ids
          .all(each.destination, each.kind, each.reason)
          .map((row) => ({ ...row, destination: name }));
      });
      found.sort((a, b) => a.created_at - b.created_at || a.seq - b.seq);
      return found.map(({ id, destination: name }) => ({ id, destination: name }));
    },
    list({ limit = 100, ...filter }: DeadLetterQuery, destination?: string): DeadLetter[] {
      const groups = groupsOf(destination).filter((each) => isMeant(each, filter));
      const rows: LetterRow[] = groups.flatMap((each) =>
        list.all(each.destination, each.kind, each.reason, limit),
      );
      rows.sort((a, b) => a.seq - b.seq);
      return rows.slice(0, limit).flatMap((row) => letterOf(row, destinations.nameOf(row.destination)) ?? []);
    },
  };
}

function valuesOf(row: LetterRow) {
  const { destination, id, kind, data, created_at, size, attempts, history } = row;
  const { reason, status, code, message, died_at } = row;
  return [
    ...[destination, id, kind, data, created_at, size, attempts, history],
    ...[reason, status, code, message, died_at],
  ];
}

function letterOf(row: LetterRow, destination: string): DeadLetter | undefined {
  const found = eventOf(row, destination);
  if (!found) return undefined;
  const { id, kind, data: event, createdAt } = found;
  const { reason, attempts, status, code, message, died_at: diedAt } = row;
  return {
    id,
    destination,
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
