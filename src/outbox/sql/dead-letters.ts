import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { KINDS } from "../../conversion/kinds.js";
import {
  DEATH_REASONS,
  type DeadLetterFilter,
  type DeadLetterSum,
  type StoredDeadLetters,
  sumOf,
} from "../dead-letters.js";
import type { Counts } from "./counts.js";
import { deadEventOf, type LetterRow, letterOf } from "./event-rows.js";
import type { Evicted } from "./eviction.js";

export interface FoundLetter {
  readonly destination: number | string;
  readonly id: string;
}

export type StoredLetter = FoundLetter & LetterRow & { readonly size: number };

/** Statements of one kind of database. `which`: a condition in SQL. */
export interface LetterStatements<Found extends FoundLetter> {
  /** SQL: the event has this id, 32 hex digits. */
  hasId(id: string): string;
  /** The oldest first. */
  list(which: string, limit: number): Promise<readonly StoredLetter[]>;
  ids(which: string): Promise<readonly Pick<FoundLetter, "id">[]>;
  sums(which: string): Promise<readonly Record<keyof DeadLetterSum, string>[]>;
  /** In the order in which the events happened. */
  find(which: string): Promise<readonly Found[]>;
  /**
   * Queues these again, all of one destination, and resolves to those that it has queued: each at
   * the end of its visitor's queue.
   */
  revive(found: readonly Found[], destination: number): Promise<readonly StoredLetter[]>;
  /** The same, as they were, for those that were held because an attempt was interrupted. */
  reviveInterrupted(found: readonly Found[], destination: number): Promise<readonly StoredLetter[]>;
  /**
   * Removes the oldest, at most so many, and resolves to them. Their ids stay known for as long as
   * if they had been delivered.
   */
  remove(which: string, limit?: number): Promise<readonly StoredLetter[]>;
}

// In PostgreSQL each takes up to three of the server's locks.
const REVIVED_AT_ONCE = 50;

/** Calls `onRevived` when something can be delivered again. */
export function createDeadLetters<Found extends FoundLetter>(
  statements: LetterStatements<Found>,
  { counts, onRevived }: { counts: Counts; onRevived: () => void },
) {
  async function reviveAll(which: string, how: "revive" | "reviveInterrupted" = "revive"): Promise<number> {
    const found = await statements.find(which);
    let revived = 0;
    for (const destination of new Set(found.map((letter) => Number(letter.destination)))) {
      const own = found.filter((letter) => Number(letter.destination) === destination);
      for (let nth = 0; nth < own.length; nth += REVIVED_AT_ONCE) {
        const some = own.slice(nth, nth + REVIVED_AT_ONCE);
        const rows = await counts.during(() => statements[how](some, destination));
        for (const { kind, reason, size } of rows) {
          counts.addDead(destination, reason, -1, size);
          counts.add(destination, kind, 1);
        }
        if (rows.length > 0) onRevived();
        revived += rows.length;
      }
    }
    return revived;
  }

  async function remove(which: string, limit?: number): Promise<Evicted[]> {
    const rows = await statements.remove(which, limit);
    for (const row of rows) counts.addDead(Number(row.destination), row.reason, -1, row.size);
    return rows.map((row) => ({ event: deadEventOf(row, Number(row.destination)), size: row.size }));
  }

  function one(id: string, destination: number | undefined): string {
    return /^[0-9a-f]{32}$/.test(id) ? `${statements.hasId(id)} and ${meant(destination)}` : "false";
  }

  const deadLetters: StoredDeadLetters = {
    async list({ limit = 100, ...filter }, destination) {
      const rows = await statements.list(meant(destination, filter), limit);
      return rows.map((row) => letterOf(row, Number(row.destination)));
    },
    sums: async (filter, destination) => (await statements.sums(meant(destination, filter))).map(sumOf),
    ids: async (filter, destination) =>
      (await statements.ids(meant(destination, filter))).map(({ id }) => id),
    retry: async (id, destination) => (await reviveAll(one(id, destination))) > 0,
    retryAll: (filter, destination) =>
      reviveAll(
        filter.reason === undefined
          ? `${meant(destination, filter)} and reason <> 'unconfirmed'`
          : meant(destination, filter),
      ),
    discard: async (id, destination) => (await remove(one(id, destination))).length > 0,
  };

  return {
    deadLetters,
    /** Requeues an `unconfirmed` event that was never sent. */
    async reviveInterrupted({ id, destination }: OutboxEvent): Promise<void> {
      await reviveAll(one(id, destination), "reviveInterrupted");
    },
    evictOldest: (destination: number, kind: EventKind, limit: number): Promise<readonly Evicted[]> =>
      remove(meant(destination, { kind }), limit),
  };
}

function meant(destination: number | undefined, { kind, reason }: DeadLetterFilter = {}): string {
  return [
    destination === undefined ? "true" : `destination = ${destination}`,
    isOneWord("kind", kind, KINDS),
    isOneWord("reason", reason, DEATH_REASONS),
  ].join(" and ");
}

/** SQL: a column has this word, if there is one. No other text gets into a statement. */
function isOneWord<Word>(column: string, word: Word | undefined, all: readonly Word[]): string {
  if (word === undefined) return "true";
  return all.includes(word) ? `${column} = '${word}'` : "false";
}
