import type { EventKind } from "../../events.js";
import { DEATH_REASONS, type Death, type DeathReason } from "../dead-letters.js";
import { SHEDDING_ORDER } from "../shedding.js";
import type { Delivered } from "./delivered.js";
import type { Destinations } from "./destinations.js";
import type { Claimed, Dropped, Letter } from "./protocol.js";
import { type EventRow, eventFromRow } from "./rows.js";
import { type Database, prepareAll } from "./sqlite.js";
import type { Totals } from "./totals.js";
import type { Unreadable } from "./unreadable.js";

export const STATEMENTS = {
  // A `seq` of null: the next one.
  keep: `
    insert into dead_letters (
      seq, destination, id, kind, data, created_at, size, attempts, history, reason, status, code, message, died_at,
      amount
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  take: "delete from dead_letters where id = ?1 and destination = ?2 returning *",
  takeInterrupted: `
    delete from dead_letters
    where id = ? and destination = ? and reason = 'unconfirmed' and code = 'ERR_INTERRUPTED' returning *`,
  next: `
    select seq, size from dead_letters
    where destination = ? and kind = ? and reason = ? and seq > ? order by seq limit 1`,
  evict: "delete from dead_letters where seq = ? returning *",
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
export interface Group {
  readonly destination: number;
  readonly kind: EventKind;
  readonly reason: DeathReason;
}

/** A dead letter that may be evicted. */
export interface Evictable {
  readonly seq: number;
  readonly size: number;
  readonly isLetter: true;
}

export type LetterRows = ReturnType<typeof createLetterRows>;

/** The rows of dead letters: bounded in number and in bytes. Where there are too many, clicks are evicted first, payments last. */
export function createLetterRows(
  db: Database,
  parts: {
    destinations: Destinations;
    totals: Totals;
    delivered: Delivered;
    unreadable: Unreadable;
    max: number;
    maxBytes: number;
    drop: (dropped: Dropped) => void;
  },
) {
  const { destinations, totals, delivered, unreadable, max, maxBytes, drop } = parts;
  const { keep, take, takeInterrupted, next, evict } = prepareAll(db, STATEMENTS);

  /** The groups that have letters, of one destination or of all. */
  function groupsOf(destination?: string): Group[] {
    const numbers = destination === undefined ? totals.destinations : [destinations.numberOf(destination)];
    const groups = numbers.flatMap((each) =>
      SHEDDING_ORDER.flatMap((kind) => DEATH_REASONS.map((reason) => ({ destination: each, kind, reason }))),
    );
    return groups.filter((each) => rowsOf(each) > 0);
  }

  function rowsOf({ destination, kind, reason }: Group): number {
    return totals.rows(destination, `${kind} ${reason}`);
  }

  function bytes(kinds: readonly EventKind[]): number {
    return totals.bytes(
      ...kinds.flatMap((kind) => DEATH_REASONS.map((reason) => `${kind} ${reason}` as const)),
    );
  }

  function count({ destination, kind, reason, size }: Group & Pick<LetterRow, "size">, rows: 1 | -1): void {
    totals.add(destination, `${kind} ${reason}`, rows, rows * size);
  }

  /** Those of a kind, of all destinations. */
  function* oldestFirst(kind: EventKind): Generator<Evictable> {
    const groups = groupsOf().filter((each) => each.kind === kind);
    for (let after = 0; ; ) {
      const found: Evictable[] = groups.flatMap((each) => {
        const row = next.get(each.destination, kind, each.reason, after);
        return row ? [{ ...row, isLetter: true }] : [];
      });
      const [first] = found.sort((a, b) => a.seq - b.seq);
      if (!first) return;
      yield first;
      after = first.seq;
    }
  }

  function evictAt({ seq }: Evictable): void {
    const row: LetterRow = evict.get(seq);
    count(row, -1);
    // Its id stays known as if it had been delivered: reported again, it must not be sent.
    delivered.add(row.destination, row.kind, row.id);
    const event = eventFromRow(row, destinations.nameOf(row.destination));
    if (event) drop({ event, reason: "dead-letters-full" });
    else unreadable.onFound(row.id);
  }

  function areTooMany(): boolean {
    return bytes(SHEDDING_ORDER) > maxBytes || groupsOf().reduce((sum, each) => sum + rowsOf(each), 0) > max;
  }

  /** Stores a row, with its old sequence number if it has one. */
  function put(row: Omit<LetterRow, "seq"> & { readonly seq: number | null }): void {
    const { seq, destination, id, kind, data, created_at, size, attempts, history } = row;
    const { reason, status, code, message, died_at, amount } = row;
    keep.run(
      ...[seq, destination, id, kind, data, created_at, size, attempts, history],
      ...[reason, status, code, message, died_at, amount],
    );
    count(row, 1);
  }

  function counted<Row extends LetterRow | undefined>(row: Row): Row {
    if (row) count(row, -1);
    return row;
  }

  return {
    groupsOf,
    rowsOf,
    bytes,
    oldestFirst,
    evict: evictAt,
    put,
    keep(row: LetterRow): void {
      put({ ...row, seq: null });
      // Evicts no more bytes than came: an outbox beyond its bounds, as after a restore, keeps its letters.
      for (let freed = 0; areTooMany() && freed < row.size; ) {
        const [least] = SHEDDING_ORDER.flatMap((kind) => {
          const { value } = oldestFirst(kind).next();
          return value ? [value] : [];
        });
        if (!least) return;
        evictAt(least);
        freed += least.size;
      }
    },
    /** Takes out those with this id, of one destination or of all. */
    take({ id, destination }: Letter): LetterRow[] {
      const numbers = destination === undefined ? totals.destinations : [destinations.numberOf(destination)];
      return numbers.flatMap((each) => take.all(id, each)).map(counted);
    },
    /** Takes out an `unconfirmed` letter of a process that seemed to have ended. */
    takeInterrupted: ({ id, destination }: Claimed): LetterRow | undefined =>
      counted(takeInterrupted.get(id, destinations.numberOf(destination))),
  };
}
