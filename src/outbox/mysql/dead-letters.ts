import type { EventKind, OutboxEvent } from "../../events.js";
import { objectFromJson } from "../../shared/json.js";
import {
  type DeadLetterFilter,
  type DeadLetterSum,
  type DeathReason,
  type StoredDeadLetters,
  sumOf,
} from "../dead-letters.js";
import { type History, UNTRIED } from "../outbox.js";
import type { Counts } from "../sql/counts.js";
import { deadEventOf, eventOf, type LetterRow, letterOf } from "../sql/event-rows.js";
import type { Evicted } from "../sql/eviction.js";
import type { Database } from "./database.js";
import { ascii, binary, due, integer, listOf, NOW } from "./literals.js";
import { insertsOf, KNOWN, LETTER_COLUMNS } from "./rows.js";
import { NOT_ENTERED, ownUrgency } from "./urgency.js";

type StoredRow = LetterRow & {
  readonly seq: number;
  readonly destination: string;
  readonly history: string | null;
  readonly size: number;
};

const REVIVED_AT_ONCE = 50;
const ALL = 2 ** 53 - 1;

/**
 * What was given up, until it is retried or discarded.
 *
 * @param options.onRevived something can be delivered again.
 */
export function createDeadLetters(
  database: Database,
  options: {
    prefix: string;
    counts: Counts;
    onRevived: () => void;
  },
) {
  const { prefix, counts, onRevived } = options;
  const events = `\`${prefix}events\``;

  const select = (where: string, order: string, limit: number) => `
    select cast(destination as char) as destination, ${LETTER_COLUMNS}, history, size
    from ${events} where state = 'dead' and ${where} order by ${order} limit ${limit}`;

  function meant(destination: number | undefined, { kind, reason }: DeadLetterFilter = {}): string {
    return [
      destination === undefined ? "true" : `destination = ${destination}`,
      kind === undefined ? "true" : `kind = ${ascii(kind)}`,
      reason === undefined ? "true" : `reason = ${ascii(reason)}`,
    ].join(" and ");
  }

  /** Queues these dead letters again, in the order in which their events happened. */
  async function reviveAll(where: string): Promise<number> {
    const found = await database.rows<{ seq: number }>(
      `select seq from ${events} where state = 'dead' and ${where} order by created_at, seq`,
    );
    let revived = 0;
    for (let nth = 0; nth < found.length; nth += REVIVED_AT_ONCE) {
      const some = listOf(found.slice(nth, nth + REVIVED_AT_ONCE).map(({ seq }) => String(seq)));
      revived += await revive(
        await database.rows<StoredRow>(select(`seq in (${some})`, "created_at, seq", ALL)),
      );
    }
    return revived;
  }

  /** Each becomes a new row, because it goes to the end of its visitor's queue. */
  async function revive(rows: readonly StoredRow[]): Promise<number> {
    const revived = await counts.during(() =>
      database.transact(async (connection) => {
        const locked = await connection.rows<{ seq: number }>(
          `select seq from ${events}
           where seq in (${listOf(rows.map(({ seq }) => String(seq)))}) and state = 'dead' for update`,
        );
        const left = new Set(locked.map(({ seq }) => Number(seq)));
        const risen = rows.filter(
          ({ seq, data }) => left.has(Number(seq)) && objectFromJson(data) !== undefined,
        );
        if (risen.length === 0) return [];
        await connection.write(
          `delete from ${events} where seq in (${listOf(risen.map(({ seq }) => String(seq)))})`,
        );
        const fresh = risen.map((row) => eventOf(row, Number(row.destination)));
        for (const text of insertsOf(prefix, fresh)) await connection.write(text);
        const doubtful = risen.filter(isDoubtful);
        const which = `(id, destination) in (${listOf(risen.map(keyOf))})`;
        const doubt = `(id, destination) in (${listOf(doubtful.map(keyOf))})`;
        const history = ascii(JSON.stringify({ ...UNTRIED, maybeTaken: true }));
        await connection.write(
          `update ${events} set queued_at = ${NOW}, ${due(NOW)}
             ${doubtful.length === 0 ? "" : `, history = if(${doubt}, ${history}, null)`} where ${which}`,
        );
        return risen;
      }),
    );
    for (const row of revived) {
      counts.addDead(Number(row.destination), row.reason, -1, row.size);
      counts.add(Number(row.destination), row.kind, 1);
    }
    if (revived.length > 0) onRevived();
    return revived.length;
  }

  /** Removes one; its id stays known for as long as if it had been delivered. */
  async function remove(row: StoredRow): Promise<boolean> {
    const removed = await database.transact(({ write }) =>
      write(`update ${events} set ${KNOWN} where seq = ${integer(row.seq)} and state = 'dead'`),
    );
    if (removed > 0) counts.addDead(Number(row.destination), row.reason, -1, row.size);
    return removed > 0;
  }

  async function one(id: string, destination: number | undefined): Promise<StoredRow[]> {
    if (!/^[0-9a-f]{32}$/.test(id)) return [];
    return database.rows<StoredRow>(select(`id = ${binary(id)} and ${meant(destination)}`, "seq", ALL));
  }

  const deadLetters: StoredDeadLetters = {
    async list({ limit = 100, ...filter }, destination) {
      const rows = await database.rows<StoredRow>(
        select(meant(destination, filter), "due_at, seq", Math.min(limit, ALL)),
      );
      return rows.map((row) => letterOf(row, Number(row.destination)));
    },
    async sums(filter, destination) {
      const rows = await database.rows<Record<keyof DeadLetterSum, string>>(
        `select cast(kind as char) as kind, cast(reason as char) as reason, count(*) as count, coalesce(sum(
           if(kind = 'payment' and json_valid(data), json_extract(data, '$.leadValue'), 0)
         ), 0) as amount
         from ${events} where state = 'dead' and ${meant(destination, filter)} group by kind, reason`,
      );
      return rows.map(sumOf);
    },
    async ids(filter, destination) {
      const rows = await database.rows<{ id: string }>(
        `select lower(hex(id)) as id from ${events}
         where state = 'dead' and ${meant(destination, filter)} order by due_at, seq`,
      );
      return rows.map(({ id }) => id);
    },
    async retry(id, destination) {
      return (await revive(await one(id, destination))) > 0;
    },
    retryAll: (filter, destination) =>
      reviveAll(
        `${meant(destination, filter)}${filter.reason === undefined ? " and reason <> 'unconfirmed'" : ""}`,
      ),
    async discard(id, destination) {
      const removed = await Promise.all((await one(id, destination)).map(remove));
      return removed.includes(true);
    },
  };

  return {
    deadLetters,
    /** Requeues an `unconfirmed` event that was never sent. */
    async reviveInterrupted({ id, destination }: OutboxEvent): Promise<void> {
      for (const row of await one(id, destination)) {
        if (row.reason !== "unconfirmed" || JSON.parse(row.death).code !== "ERR_INTERRUPTED") continue;
        const revived = await database.write(
          `update ${events} set state = 'queued', urgency = if(history is null and ${ownUrgency()} > 1, ${NOT_ENTERED}, urgency),
             ${due(NOW)}, tried = (history is not null), reason = null, death = null
           where seq = ${integer(row.seq)} and state = 'dead' and reason = 'unconfirmed'`,
        );
        if (revived === 0) continue;
        counts.addDead(destination, row.reason, -1, row.size);
        counts.add(destination, row.kind, 1);
        onRevived();
      }
    },
    async evictOldest(destination: number, kind: EventKind, limit: number): Promise<readonly Evicted[]> {
      const rows = await database.rows<StoredRow>(select(meant(destination, { kind }), "due_at, seq", limit));
      const evicted: Evicted[] = [];
      for (const row of rows) {
        if (await remove(row)) evicted.push({ event: deadEventOf(row, destination), size: row.size });
      }
      return evicted;
    },
  };
}

/** Whether the service may have taken the event. */
function isDoubtful({ reason, history }: { reason: DeathReason; history: string | null }): boolean {
  return reason === "unconfirmed" || (history !== null && (JSON.parse(history) as History).maybeTaken);
}

function keyOf({ id, destination }: StoredRow): string {
  return `(${binary(id)}, ${destination})`;
}
