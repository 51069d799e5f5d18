import type { EventKind } from "../../../conversion/events.js";
import { LEAST_URGENT_FIRST } from "../../../conversion/kinds.js";
import { objectFromJson } from "../../../shared/json.js";
import {
  DEATH_REASONS,
  type DeadLetter,
  type DeadLetterSum,
  type Death,
  type DeathReason,
  isRetried,
  matchesFilter,
} from "../../dead-letters.js";
import type { Cache } from "./cache.js";
import type { KnownIds } from "./known-ids.js";
import type { Claimed, Letter, RequestOf } from "./requests.js";
import { type EventRow, inOrder, type LetterRow, letterOf, sizeOfWords } from "./rows.js";

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
  one: "select * from dead_letters where id = ?",
  ids: `select id, created_at, seq from dead_letters where ${ofGroup}`,
  amount: `select sum(amount) as amount from dead_letters where ${ofGroup}`,
} as const;

/** One look at an index finds these dead letters. */
type Group = readonly [destination: number, kind: EventKind, reason: DeathReason];

export interface Evictable {
  readonly seq: number;
  readonly size: number;
  readonly isLetter: true;
}

/**
 * Dead letters are events that were given up, until an operator decides. Their number and bytes are
 * bounded: clicks are evicted first, payments last.
 */
export function createLetters(
  { cache, ids }: { cache: Cache; ids: KnownIds },
  { max, maxBytes }: { max: number; maxBytes: number },
) {
  const statements = cache.prepare(STATEMENTS);

  function numbersOf(destination: number | undefined): readonly number[] {
    return destination === undefined ? cache.known.totals.destinations : [destination];
  }

  /** The groups that have letters. */
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

  /** The letters of a kind, of all destinations. */
  function oldestFirst(kind: EventKind): Generator<Evictable> {
    const groups = groupsOf(undefined, (each) => each.kind === kind);
    return inOrder(groups, (group, after): Evictable | undefined => {
      const row = statements.next.get(...group, after);
      return row && { ...row, isLetter: true };
    });
  }

  function evict({ seq }: Pick<Evictable, "seq">): void {
    const row: LetterRow = statements.evict.get(seq);
    count(row, -1);
    // Its id is kept as if it were delivered: reported again, it must not be sent.
    ids.keepDelivered(row.destination, row.kind, row.id);
    cache.noteDropped(row, "dead-letters-full");
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

  /** Takes out the letters with this id, of one destination or of all. */
  function take({ id, destination }: Letter, statement = statements.take): LetterRow[] {
    const rows: LetterRow[] = numbersOf(destination).flatMap((each) => statement.all(id, each));
    for (const row of rows) count(row, -1);
    return rows;
  }

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
    /** Takes out the `unconfirmed` letter of a process that seemed to have ended. */
    takeInterrupted: (claimed: Claimed): LetterRow[] => take(claimed, statements.takeInterrupted),
    keep(row: EventRow, { reason, status, code, message, attempts }: Death, now: number): void {
      const words = { status: status ?? null, code: code ?? null, message: message ?? null };
      const size = row.size + sizeOfWords(words);
      const { leadValue } = (objectFromJson(row.data) ?? {}) as { readonly leadValue?: unknown };
      const amount = typeof leadValue === "number" ? leadValue : null;
      put({ ...row, ...words, reason, attempts, died_at: now, size, amount, seq: null });
      // After a restore, an outbox may be beyond its bounds: evicts no more bytes than came.
      for (let freed = 0; areTooMany() && freed < size; ) {
        const [least] = LEAST_URGENT_FIRST.flatMap((kind) => oldestFirst(kind).next().value ?? []);
        if (!least) return;
        evict(least);
        freed += least.size;
      }
    },
    discard(letter: Letter): boolean {
      const rows = take(letter);
      for (const row of rows) ids.keepDelivered(row.destination, row.kind, row.id);
      return rows.length > 0;
    },
    /** What `retryAll` means, in the order in which it happened. */
    retried({ filter, destination }: RequestOf<"sums" | "ids" | "retried">): Letter[] {
      const found = refsOf(groupsOf(destination, (each) => isRetried(each, filter)));
      found.sort((a, b) => a.created_at - b.created_at || a.seq - b.seq);
      return found.map(({ id, destination: name }) => ({ id, destination: name }));
    },
    /** Counts and sums: no letter is read. */
    sums: ({ filter, destination }: RequestOf<"sums" | "ids" | "retried">): DeadLetterSum[] =>
      groupsOf(destination, (each) => matchesFilter(each, filter)).map((each) => ({
        kind: each[1],
        reason: each[2],
        count: rowsOf(each),
        amount: statements.amount.get(...each).amount ?? 0,
      })),
    /** The ids, oldest first. */
    ids({ filter, destination }: RequestOf<"sums" | "ids" | "retried">): string[] {
      const found = refsOf(groupsOf(destination, (each) => matchesFilter(each, filter)));
      return found.sort((a, b) => a.seq - b.seq).map(({ id }) => id);
    },
    list({ query: { limit = 100, id, ...filter }, destination }: RequestOf<"list">): DeadLetter[] {
      if (id !== undefined) {
        const found = (statements.one.all(id) as LetterRow[]).map(letterOf);
        return found.filter(
          (each) => (destination ?? each.destination) === each.destination && matchesFilter(each, filter),
        );
      }
      const groups = groupsOf(destination, (each) => matchesFilter(each, filter));
      const rows: LetterRow[] = groups.flatMap((each) => statements.list.all(...each, limit));
      rows.sort((a, b) => a.seq - b.seq);
      return rows.slice(0, limit).map(letterOf);
    },
  };
}
