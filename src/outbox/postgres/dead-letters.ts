import type { EventKind, OutboxEvent } from "../../events.js";
import { priorityOf } from "../../kinds.js";
import {
  type DeadLetterFilter,
  type DeadLetterSum,
  type DeathReason,
  type StoredDeadLetters,
  sumOf,
} from "../dead-letters.js";
import { UNTRIED } from "../outbox.js";
import type { Counts } from "../sql/counts.js";
import { deadEventOf, type EventRow, type LetterRow, letterOf } from "../sql/event-rows.js";
import type { Evicted } from "../sql/eviction.js";
import type { Database } from "./database.js";
import { EVENT_COLUMNS, LETTER_COLUMNS } from "./rows.js";

interface Owned {
  readonly destination: string;
}

interface RevivedRow {
  readonly kind: EventKind;
  readonly reason: DeathReason;
  readonly size: number;
}

const DOUBTFUL = JSON.stringify({ ...UNTRIED, maybeTaken: true });

// Each takes up to three of the server's locks.
const REVIVED_AT_ONCE = 50;

/**
 * What was given up, until it is retried or discarded.
 *
 * @param options.schema a quoted identifier.
 * @param options.onRevived something can be delivered again.
 */
export function createDeadLetters(
  database: Database,
  options: {
    schema: string;
    counts: Counts;
    onRevived: () => void;
  },
) {
  const { schema, counts, onRevived } = options;

  /** Queues these dead letters again, in the order in which their events happened. */
  async function reviveAll(which: string, values: unknown[]): Promise<number> {
    const rows = await database.query<Owned & Pick<RevivedRow, "kind"> & { id: string }>(
      `select destination::text, id, kind from ${schema}.dead_letters
       where ${which} and json_typeof(data) = 'object' order by created_at, seq`,
      values,
    );
    let revived = 0;
    for (const destination of new Set(rows.map((row) => Number(row.destination)))) {
      const own = rows.filter((row) => Number(row.destination) === destination);
      for (let nth = 0; nth < own.length; nth += REVIVED_AT_ONCE) {
        revived += await revive(destination, own.slice(nth, nth + REVIVED_AT_ONCE));
      }
    }
    return revived;
  }

  async function revive(
    destination: number,
    letters: readonly { readonly id: string; readonly kind: EventKind }[],
    interrupted = false,
  ): Promise<number> {
    const ids = letters.map(({ id }) => id);
    const urgencies = letters.map(({ kind }) => priorityOf(kind));
    const values = [destination, ids, urgencies, DOUBTFUL, interrupted];
    const rows = await counts.during(() =>
      database.queryOnce<RevivedRow>(
        `select kind, reason, size from ${schema}.revive($1, $2, $3, $4, $5)`,
        values,
      ),
    );
    for (const { kind, reason, size } of rows) {
      counts.addDead(destination, reason, -1, size);
      counts.add(destination, kind, 1);
    }
    if (rows.length > 0) onRevived();
    return rows.length;
  }

  /** Deletes them; their ids stay known for as long as if they had been delivered. */
  async function remove(which: string, values: unknown[]): Promise<Evicted[]> {
    const rows = await database.queryOnce<EventRow & Owned & Pick<RevivedRow, "reason" | "size">>(
      `with removed as (
         delete from ${schema}.dead_letters where ${which} returning *
       ), known as (
         update ${schema}.known_ids as known set delivered_at = ${schema}.delivery_time() from removed
         where known.destination = removed.destination and known.id = removed.id
       )
       select destination::text, reason, size, ${EVENT_COLUMNS}, ${schema}.commit_durably() from removed as dead_letters order by seq`,
      values,
    );
    for (const row of rows) counts.addDead(Number(row.destination), row.reason, -1, row.size);
    return rows.map((row) => ({ event: deadEventOf(row, Number(row.destination)), size: row.size }));
  }

  const deadLetters: StoredDeadLetters = {
    async list({ limit = 100, ...filter }, destination) {
      const rows = await database.query<LetterRow & Owned>(
        `select destination::text, ${LETTER_COLUMNS} from ${schema}.dead_letters where ${MEANT} order by seq limit $4`,
        [...valuesOf(destination, filter), limit],
      );
      return rows.map((row) => letterOf(row, Number(row.destination)));
    },
    async sums(filter, destination) {
      const rows = await database.query<Record<keyof DeadLetterSum, string>>(
        `select kind, reason, count(*)::text as count, coalesce(sum(case
           when kind = 'payment' and json_typeof(data -> 'leadValue') = 'number' then (data ->> 'leadValue')::numeric
         end), 0)::text as amount
         from ${schema}.dead_letters where ${MEANT} group by kind, reason`,
        valuesOf(destination, filter),
      );
      return rows.map(sumOf);
    },
    async ids(filter, destination) {
      const rows = await database.query<{ id: string }>(
        `select replace(id::text, '-', '') as id from ${schema}.dead_letters where ${MEANT} order by seq`,
        valuesOf(destination, filter),
      );
      return rows.map(({ id }) => id);
    },
    retry: async (id, destination) => isId(id) && (await reviveAll(ONE, [destination ?? null, id])) > 0,
    retryAll: (filter, destination) =>
      reviveAll(
        filter.reason === undefined ? `${MEANT} and reason <> 'unconfirmed'` : MEANT,
        valuesOf(destination, filter),
      ),
    discard: async (id, destination) => isId(id) && (await remove(ONE, [destination ?? null, id])).length > 0,
  };

  function valuesOf(destination: number | undefined, { kind, reason }: DeadLetterFilter): unknown[] {
    return [destination ?? null, kind ?? null, reason ?? null];
  }

  return {
    deadLetters,
    /** Requeues an `unconfirmed` event that was never sent. */
    async reviveInterrupted(event: OutboxEvent): Promise<void> {
      await revive(event.destination, [event], true);
    },
    evictOldest(destination: number, kind: EventKind, limit: number): Promise<readonly Evicted[]> {
      const oldest = `destination = $1 and kind = $2 and seq in (
        select seq from ${schema}.dead_letters where destination = $1 and kind = $2 order by seq limit $3
      )`;
      return remove(oldest, [destination, kind, limit]);
    },
  };
}

const ONE = "($1::bigint is null or destination = $1) and id = $2";
const MEANT = `
  ($1::bigint is null or destination = $1) and ($2::text is null or kind = $2) and ($3::text is null or reason = $3)`;

function isId(id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id);
}
