import type { EventKind, OutboxEvent } from "../../events.js";
import { type DeathReason, type Outbox, UNTRIED } from "../outbox.js";
import type { Counts } from "./counts.js";
import type { Database } from "./database.js";
import { EVENT_COLUMNS, type EventRow, eventOf, LETTER_COLUMNS, type LetterRow, letterOf } from "./rows.js";

interface RevivedRow {
  readonly kind: EventKind;
  readonly reason: DeathReason;
}

const DOUBTFUL = JSON.stringify({ ...UNTRIED, maybeTaken: true });

// Each takes up to three of the server's locks.
const REVIVED_AT_ONCE = 50;

/**
 * What was given up, until it is retried or discarded.
 *
 * @param options.schema a quoted identifier.
 * @param options.max how many are kept.
 * @param options.onRevived something can be delivered again.
 */
export function createDeadLetters(
  database: Database,
  options: { schema: string; max: number; counts: Counts; onRevived: () => void },
) {
  const { schema, max, counts, onRevived } = options;
  let isEvicting = false;

  async function revive(ids: readonly string[]): Promise<number> {
    const rows = await counts.during(() =>
      database.query<RevivedRow>(`select kind, reason from ${schema}.revive($1, $2)`, [ids, DOUBTFUL]),
    );
    for (const { kind, reason } of rows) {
      counts.add(reason, -1);
      counts.add(kind, 1);
    }
    if (rows.length > 0) onRevived();
    return rows.length;
  }

  /** Takes them away; their ids stay known for as long as if they had been delivered. */
  async function remove<Row extends { reason: DeathReason }>(
    columns: string,
    which: string,
    value: unknown,
  ): Promise<Row[]> {
    const rows = await database.query<Row>(
      `with removed as (
         delete from ${schema}.dead_letters where ${which} returning *
       ), known as (
         update ${schema}.known_ids set delivered_at = now() where id in (select id from removed)
       )
       select ${columns} from removed`,
      [value],
    );
    for (const { reason } of rows) counts.add(reason, -1);
    return rows;
  }

  const deadLetters: Outbox["deadLetters"] = {
    async list({ limit = 100 } = {}) {
      const rows = await database.query<LetterRow>(
        `select ${LETTER_COLUMNS} from ${schema}.dead_letters order by seq limit $1`,
        [limit],
      );
      return rows.map(letterOf);
    },
    retry: async (id) => isId(id) && (await revive([id])) > 0,
    async retryAll() {
      const rows = await database.query<{ id: string }>(
        `select id from ${schema}.dead_letters order by created_at, seq`,
      );
      let revived = 0;
      for (let nth = 0; nth < rows.length; nth += REVIVED_AT_ONCE) {
        revived += await revive(rows.slice(nth, nth + REVIVED_AT_ONCE).map(({ id }) => id));
      }
      return revived;
    },
    discard: async (id) => isId(id) && (await remove("reason", "id = $1", id)).length > 0,
  };

  return {
    deadLetters,
    /** Removes the oldest of those that are too many; what comes meanwhile, with the next. */
    async evict(): Promise<readonly OutboxEvent[]> {
      const tooMany = counts.dead - max;
      if (tooMany <= 0 || isEvicting) return [];
      isEvicting = true;
      try {
        const rows = await remove<EventRow & { reason: DeathReason }>(
          `reason, ${EVENT_COLUMNS}`,
          `seq in (select seq from ${schema}.dead_letters order by seq limit $1)`,
          tooMany,
        );
        return rows.map(eventOf);
      } finally {
        isEvicting = false;
      }
    },
  };
}

function isId(id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id);
}
