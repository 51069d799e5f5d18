import type { EventKind } from "../../events.js";
import { LEAST_URGENT_FIRST } from "../../kinds.js";
import { objectFromJson } from "../../shared/json.js";
import {
  DEATH_REASONS,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterQuery,
  type DeadLetterSum,
  type Death,
  type DeathReason,
  eventOrUnreadable,
  isMeant,
  isRetried,
} from "../dead-letters.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Claimed, Dropped, Letter } from "./protocol.js";
import { type EventRow, eventFromRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";

const COLUMNS = [
  ...(["seq", "destination", "id", "kind", "data", "created_at", "size", "attempts", "history"] as const),
  ...(["reason", "status", "code", "message", "died_at", "amount"] as const),
];
const ofGroup = "destination = ? and kind = ? and reason = ?";

export const STATEMENTS = {
  // A `seq` of null: the next one.
  put: `insert into dead_letters (${COLUMNS}) values (${COLUMNS.map(() => "?")})`,
  take: "delete from dead_letters where id = ?1 and destination = ?2 returning *",
  takeInterrupted: `
    delete from dead_letters
    where id = ? and destination = ? and reason = 'unconfirmed' and code = 'ERR_INTERRUPTED' returning *`,
  next: `select seq, size from dead_letters where ${ofGroup} and seq > ? order by seq limit 1`,
  evict: "delete from dead_letters where seq = ? returning *",
  list: `select * from dead_letters where ${ofGroup} order by seq limit ?`,
  ids: `select id, created_at, seq from dead_letters where ${ofGroup}`,
  amount: `select sum(amount) as amount from dead_letters where ${ofGroup}`,
} as const;

/** A dead letter as it is in the file. `size` includes the code and message of its death. */
export interface LetterRow
  extends Omit<EventRow, "click_id" | "session_id" | "queued_at" | "interrupted">,
    Pick<Death, "attempts" | "reason"> {
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly died_at: number;
  /** Of a payment, where its row can be read. */
  readonly amount: number | null;
}

/** Dead letters that are found by one look at an index. */
type Group = readonly [destination: number, kind: EventKind, reason: DeathReason];

/** A dead letter that may be evicted. */
export interface Evictable {
  readonly seq: number;
  readonly size: number;
  readonly isLetter: true;
}

export type Letters = ReturnType<typeof createLetters>;

/**
 * The events that were given up, until an operator decides. Bounded in number and in bytes: where there are too many, clicks are
 * evicted first, payments last.
 */
export function createLetters(
  db: Database,
  parts: {
    cache: Cache;
    ids: KnownIds;
    max: number;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
    onUnreadable: (id: string) => void;
  },
) {
  const { cache, ids, max, maxBytes, drop, onUnreadable } = parts;
  const statements = prepareAll(db, STATEMENTS);

  function numbersOf(destination: number | undefined): readonly number[] {
    return destination === undefined ? cache.known.totals.destinations : [destination];
  }

  /** The groups that have letters, of one destination or of all. */
  function groupsOf(
    destination?: number,
    isOne = (_: { kind: EventKind; reason: DeathReason }) => true,
  ): Group[] {
    const groups = numbersOf(destination).flatMap((each) =>
      LEAST_URGENT_FIRST.flatMap((kind) => DEATH_REASONS.map((reason) => [each, kind, reason] as const)),
    );
    return groups.filter((each) => rowsOf(each) > 0 && isOne({ kind: each[1], reason: each[2] }));
  }

  function rowsOf([destination, kind, reason]: Group): number {
    return cache.known.totals.rows(destination, `${kind} ${reason}`);
  }

  function bytes(kinds: readonly EventKind[]): number {
    const names = kinds.flatMap((kind) => DEATH_REASONS.map((reason) => `${kind} ${reason}` as const));
    return cache.known.totals.bytes(...names);
  }

  function count({ destination, kind, reason, size }: Omit<LetterRow, "seq">, rows: 1 | -1): void {
    cache.known.totals.add(destination, `${kind} ${reason}`, rows, rows * size);
  }

  /** Those of a kind, of all destinations. */
  function* oldestFirst(kind: EventKind): Generator<Evictable> {
    const groups = groupsOf(undefined, (each) => each.kind === kind);
    for (let after = 0; ; ) {
      const found: Evictable[] = groups.flatMap((each) => {
        const row = statements.next.get(...each, after);
        return row ? [{ ...row, isLetter: true }] : [];
      });
      const [first] = found.sort((a, b) => a.seq - b.seq);
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function evict({ seq }: Evictable): void {
    const row: LetterRow = statements.evict.get(seq);
    count(row, -1);
    // Its id stays known as if it had been delivered: reported again, it must not be sent.
    ids.keepDelivered(row.destination, row.kind, row.id);
    const event = eventFromRow(row, row.destination);
    if (event) drop({ event, reason: "dead-letters-full" });
    else onUnreadable(row.id);
  }

  function areTooMany(): boolean {
    return (
      bytes(LEAST_URGENT_FIRST) > maxBytes || groupsOf().reduce((sum, each) => sum + rowsOf(each), 0) > max
    );
  }

  /** Stores a row, with its old sequence number if it has one. */
  function put(row: Omit<LetterRow, "seq"> & { readonly seq: number | null }): void {
    statements.put.run(...COLUMNS.map((each) => row[each]));
    count(row, 1);
  }

  /** Takes out those with this id, of one destination or of all. */
  function take({ id, destination }: Letter, statement = statements.take): LetterRow[] {
    const rows: LetterRow[] = numbersOf(destination).flatMap((each) => statement.all(id, each));
    for (const row of rows) count(row, -1);
    return rows;
  }

  /** The ids of those that are meant. */
  function refsOf(
    groups: readonly Group[],
  ): (Pick<LetterRow, "id" | "created_at" | "seq"> & { destination: number })[] {
    return groups.flatMap((each) => {
      const destination = each[0];
      return statements.ids.all(...each).map((row) => ({ ...row, destination }));
    });
  }

  return {
    bytes,
    oldestFirst,
    evict,
    put,
    take,
    /** Takes out an `unconfirmed` letter of a process that seemed to have ended. */
    takeInterrupted: (claimed: Claimed): LetterRow[] => take(claimed, statements.takeInterrupted),
    keep(row: EventRow, { reason, status, code, message, attempts }: Death, now: number): void {
      const words = { code: code ?? null, message: message ?? null };
      const size = row.size + sizeOfWords(words);
      const { leadValue } = (objectFromJson(row.data) ?? {}) as { readonly leadValue?: unknown };
      const amount = typeof leadValue === "number" ? leadValue : null;
      put({
        ...row,
        ...words,
        reason,
        attempts,
        status: status ?? null,
        died_at: now,
        size,
        amount,
        seq: null,
      });
      // Evicts no more bytes than came: an outbox beyond its bounds, as after a restore, keeps its letters.
      for (let freed = 0; areTooMany() && freed < size; ) {
        const [least] = LEAST_URGENT_FIRST.flatMap((kind) => oldestFirst(kind).next().value ?? []);
        if (!least) return;
        evict(least);
        freed += least.size;
      }
    },
    /** Takes it out, and remembers its id. */
    discard(letter: Letter): boolean {
      const rows = take(letter);
      for (const row of rows) ids.keepDelivered(row.destination, row.kind, row.id);
      return rows.length > 0;
    },
    /** Those that `retryAll` means, in the order in which they happened. */
    retried(filter: DeadLetterFilter, destination?: number): Letter[] {
      const found = refsOf(groupsOf(destination, (each) => isRetried(each, filter)));
      found.sort((a, b) => a.created_at - b.created_at || a.seq - b.seq);
      return found.map(({ id, destination: name }) => ({ id, destination: name }));
    },
    /** Counts and sums of the letters that a filter means; no letter is read. */
    sums: (filter: DeadLetterFilter, destination?: number): DeadLetterSum[] =>
      groupsOf(destination, (each) => isMeant(each, filter)).map((each) => ({
        kind: each[1],
        reason: each[2],
        count: rowsOf(each),
        amount: statements.amount.get(...each).amount ?? 0,
      })),
    /** The ids of those that are meant, oldest first. */
    ids(filter: DeadLetterFilter, destination?: number): string[] {
      const found = refsOf(groupsOf(destination, (each) => isMeant(each, filter)));
      return found.sort((a, b) => a.seq - b.seq).map(({ id }) => id);
    },
    list({ limit = 100, ...filter }: DeadLetterQuery, destination?: number): DeadLetter[] {
      const groups = groupsOf(destination, (each) => isMeant(each, filter));
      const rows: LetterRow[] = groups.flatMap((each) => statements.list.all(...each, limit));
      rows.sort((a, b) => a.seq - b.seq);
      return rows.slice(0, limit).map((row) => letterOf(row, row.destination));
    },
  };
}

/** The bytes of a death's code and message. */
export function sizeOfWords({ code, message }: Pick<LetterRow, "code" | "message">): number {
  return Buffer.byteLength(code ?? "") + Buffer.byteLength(message ?? "");
}

function letterOf(row: LetterRow, destination: number): DeadLetter {
  const { id, kind, created_at: createdAt, reason, attempts, status, code, message, died_at: diedAt } = row;
  const event = eventOrUnreadable(eventFromRow(row, destination)?.data);
  const details = Object.entries({ status, code, message }).filter(([, value]) => value !== null);
  return {
    id,
    destination,
    kind,
    ...event,
    createdAt,
    reason,
    attempts,
    ...Object.fromEntries(details),
    diedAt,
  };
}
