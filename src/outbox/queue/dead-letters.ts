import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, LEAST_URGENT_FIRST, priorityOf } from "../../conversion/kinds.js";
import { objectFromJson } from "../../shared/json.js";
import type { DeadLetterQuery, DeadLetters, DeathReason } from "../dead-letters.js";
import { UNTRIED } from "../outbox.js";
import type { Chores } from "./chores.js";
import { type Counts, changeOf } from "./counts.js";
import type { Database, Scope } from "./database.js";
import { contentsOf, DEAD, dataOf, type EventRow, eventOf, historyOf, inState, marks } from "./rows.js";
import type { Ends } from "./settle.js";

const REVIVED_AT_ONCE = 50;

/** Calls `onRevived` when something can be delivered again. */
export function createDeadLetters(
  database: Database,
  options: {
    counts: Counts;
    scope: Scope;
    ends: Ends;
    chores: Chores;
    onRevived: () => void;
    /** Bounds of the dead letters. */
    max: number;
    maxBytes: number;
    onEvicted: (event: OutboxEvent) => void;
  },
) {
  const { counts, scope, ends, chores, onRevived, max, maxBytes, onEvicted } = options;
  const { words } = database;
  const { events } = words;

  function selected({ kind, reason, id }: Omit<DeadLetterQuery, "limit">, of = scope) {
    const given = { "kind = ?": kind && priorityOf(kind), "reason = ?": reason, "id = ?": id };
    const meant = Object.entries(given).filter(
      (pair): pair is [string, string | number] => pair[1] !== undefined,
    );
    return {
      text: [inState(DEAD), of.condition, ...meant.map(([condition]) => condition)].join(" and "),
      values: meant.map(([, value]) => value),
    };
  }

  /**
   * Queues those again that can be read: each at the end of its visitor's queue. Resolves to their
   * number.
   */
  async function revive(ids: readonly string[]): Promise<number> {
    const { text, values } = selected({});
    const { moved } = await chores.move(
      `${text} and id in (${marks(ids)}) order by created_at, seq`,
      [...values, ...ids],
      (row) => {
        const contents = contentsOf(row);
        if (!contents) return undefined;
        const { event, history } = contents;
        const maybeTaken = row.reason === "unconfirmed" || history.maybeTaken || row.interrupted === 1;
        return { event, queuedAt: row.now, history: { ...UNTRIED, maybeTaken }, isDue: true };
      },
      (row) => [buried(row, -1), changeOf(eventOf(row, {}), "queued", 1, { bytes: row.data.length })],
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

  /** Removes the oldest. Its id stays known as if it had been delivered. Resolves to its row. */
  async function remove({ text, values }: ReturnType<typeof selected>): Promise<EventRow | undefined> {
    const [removed] = await counts.during(
      () =>
        database.transaction(async (tx) => {
          const found = await tx.rows<EventRow>(
            `select e.* from ${events} e where ${text} order by at_ms, seq limit 1${words.forUpdate}`,
            values,
          );
          await ends.forget(tx, found, "'discarded'");
          return found;
        }),
      (found) => found.map((row) => buried(row, -1)),
    );
    return removed;
  }

  /** @param of whose. Default: those of the outbox. */
  const evictOldest = (kind: EventKind, of?: Scope) => remove(selected({ kind }, of));

  /**
   * Bounds the dead letters after one of so many bytes was counted: the least important go first, and
   * of these the oldest. No more than that: beyond the bounds, as after a restore, the rest is kept.
   * Never rejects.
   */
  async function evictFor(bytes: number): Promise<void> {
    const isOver = () => counts.dead() > max || counts.deadBytes() > maxBytes;
    let left = bytes;
    try {
      if (isOver() && counts.mayBeTooHigh()) await counts.take();
      for (const kind of LEAST_URGENT_FIRST) {
        while (left > 0 && isOver()) {
          const evicted = await evictOldest(kind);
          if (!evicted) break;
          left -= evicted.size;
          onEvicted(eventOf(evicted));
        }
      }
    } catch {
      // Appends and claims report what is wrong with the server.
    }
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
        const data = dataOf(row);
        const { id, destination, kind, createdAt, data: event } = eventOf(row, data ?? {});
        const { attempts } = historyOf(row) ?? UNTRIED;
        const death = { reason: row.reason as DeathReason, attempts, ...objectFromJson(row.death ?? "") };
        const letter = { id, destination, kind, createdAt, event, ...death, diedAt: row.at_ms };
        return data ? letter : { ...letter, unreadable: true };
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
    discard: async (id) => (await remove(selected({ id }))) !== undefined,
  };

  return { deadLetters, evictOldest, evictFor };
}

/** What the counts change by if a dead letter comes, or leaves. */
function buried(row: EventRow, number: 1 | -1) {
  return changeOf(eventOf(row, {}), row.reason as DeathReason, number, { bytes: number * row.size });
}
