import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, priorityOf } from "../../conversion/kinds.js";
import { objectFromJson } from "../../shared/json.js";
import { UNTRIED } from "../claim.js";
import {
  type DeadLetterQuery,
  type DeadLetters,
  type DeathReason,
  eventOrUnreadable,
} from "../dead-letters.js";
import type { Changing, Chores, MovedRow } from "./chores.js";
import { type Counts, changeOf } from "./counts.js";
import type { Database, Statements } from "./database.js";
import {
  type Contents,
  contentsOf,
  DEAD,
  dataOf,
  type EventRow,
  eventOf,
  forgotten,
  inState,
  marks,
  seqsOf,
} from "./rows.js";
import type { Scope } from "./scope.js";

/** A dead letter that was removed, and its size in bytes. */
export interface Evicted {
  readonly event: OutboxEvent;
  readonly size: number;
}

const REVIVED_AT_ONCE = 50;

/** Calls `onRevived` when something can be delivered again. */
export function createDeadLetters(
  database: Database,
  options: {
    counts: Counts;
    scope: Scope;
    rememberMs: number;
    chores: Chores;
    changing: Changing;
    onRevived: () => void;
  },
) {
  const { counts, scope, rememberMs, chores, changing, onRevived } = options;
  const { words } = database;
  const { events, now } = words;

  function selected({ kind, reason, id }: Omit<DeadLetterQuery, "limit">, of = scope) {
    const given = { "kind = ?": kind && priorityOf(kind), "reason = ?": reason, "id = ?": id };
    const meant = Object.entries(given).filter(
      (each): each is [string, string | number] => each[1] !== undefined,
    );
    return {
      text: [inState(DEAD), of.condition, ...meant.map(([condition]) => condition)].join(" and "),
      values: meant.map(([, value]) => value),
    };
  }

  /** Queues some again: each at the end of its visitor's queue. Resolves to how many were there, and can be read. */
  async function revive(ids: readonly string[], isMeant = "0 = 0", isNeverSent = false): Promise<number> {
    const { text, values } = selected({});
    const where = `${text} and id in (${marks(ids)}) and ${isMeant} order by created_at, seq`;
    const revived = (row: MovedRow) => {
      const { event, history } = contentsOf(row) as Contents;
      // As it was.
      if (isNeverSent) return { event, queuedAt: row.queued_at, history, isDue: true };
      const maybeTaken = row.reason === "unconfirmed" || history.maybeTaken;
      return { event, queuedAt: row.now, history: { ...UNTRIED, maybeTaken }, isDue: true };
    };
    const { moved } = await changing(
      () =>
        database.transaction((tx) =>
          chores.move(tx, where, [...values, ...ids], revived, (_, found) => found.filter(contentsOf)),
        ),
      (done) =>
        done.moved.flatMap((row) => [
          buried(row, -1),
          changeOf(eventOf(row, {}), "queued", 1, { bytes: row.data.length }),
        ]),
    );
    if (moved.length > 0) onRevived();
    return moved.length;
  }

  async function idsOf(
    { text, values }: ReturnType<typeof selected>,
    order: "created_at" | "at_ms",
  ): Promise<string[]> {
    const found = await database.rows<{ id: string }>(
      `select id from ${events} where ${text} order by ${order}, seq`,
      values,
    );
    return found.map(({ id }) => id);
  }

  /** Removes the oldest, at most so many. Their ids stay known as if they had been delivered. */
  async function remove({ text, values }: ReturnType<typeof selected>, limit: number): Promise<Evicted[]> {
    const removed = await counts.during(
      () =>
        database.transaction(async (tx: Statements) => {
          const found = await tx.rows<EventRow>(
            `select e.* from ${events} e where ${text} order by at_ms, seq limit ${limit}${words.forUpdate}`,
            values,
          );
          if (found.length > 0) {
            const set = `update ${events} set ${forgotten("'discarded'", now, rememberMs)} where seq in (${marks(found)})`;
            await tx.write(set, seqsOf(found));
          }
          return found;
        }),
      (found) => found.map((row) => buried(row, -1)),
    );
    return removed.map((row) => ({ event: eventOf(row), size: row.size }));
  }

  const deadLetters: DeadLetters = {
    async list({ limit = 100, ...query } = {}) {
      const { text, values } = selected(query);
      const most = Number.isFinite(limit) ? ` limit ${limit}` : "";
      const found = await database.rows<EventRow>(
        `select e.* from ${events} e where ${text} order by at_ms, seq${most}`,
        values,
      );
      return found.map((row) => {
        const { id, destination, kind, createdAt } = eventOf(row, {});
        const death = { reason: row.reason as DeathReason, attempts: 0, ...objectFromJson(row.death ?? "") };
        const event = eventOrUnreadable(dataOf(row));
        return { id, destination, kind, createdAt, ...event, ...death, diedAt: row.at_ms };
      });
    },
    async sums(filter = {}) {
      const { text, values } = selected(filter);
      const found = await database.rows<
        Record<"kind" | "number" | "amount", number> & { reason: DeathReason }
      >(
        `select kind, reason, count(*) as number, sum(amount) as amount from ${events} where ${text} group by kind, reason`,
        values,
      );
      return found.map(({ kind, reason, number, amount }) => ({
        ...{ kind: kindOfPriority(kind), reason, count: number, amount: amount ?? 0 },
      }));
    },
    ids: (filter = {}) => idsOf(selected(filter), "at_ms"),
    retry: async (id) => (await revive([id])) > 0,
    async retryAll(filter = {}) {
      const { text, values } = selected(filter);
      const isMeant = filter.reason === undefined ? `${text} and reason <> 'unconfirmed'` : text;
      const ids = await idsOf({ text: isMeant, values }, "created_at");
      let revived = 0;
      for (let nth = 0; nth < ids.length; nth += REVIVED_AT_ONCE)
        revived += await revive(ids.slice(nth, nth + REVIVED_AT_ONCE));
      return revived;
    },
    discard: async (id) => (await remove(selected({ id }), 1)).length > 0,
  };

  return {
    deadLetters,
    /** Queues an event again, as it was, that another process holds and that was never sent. */
    async reviveInterrupted({ id }: OutboxEvent): Promise<void> {
      await revive([id], `reason = 'unconfirmed' and death like '%"ERR_INTERRUPTED"%'`, true);
    },
    /** @param of whose. Default: those of the outbox. */
    evictOldest: (kind: EventKind, limit: number, of: Scope = scope): Promise<readonly Evicted[]> =>
      remove(selected({ kind }, of), limit),
  };
}

/** What the counts change by if a dead letter comes, or leaves. */
function buried(row: EventRow, number: 1 | -1) {
  return changeOf(eventOf(row, {}), row.reason as DeathReason, number, {
    bytes: number * row.size,
  });
}
