import type { EventKind, OutboxEvent } from "../../conversion/events.js";
import { kindOfPriority, priorityOf } from "../../conversion/kinds.js";
import { objectFromJson } from "../../shared/json.js";
import { UNTRIED } from "../claim.js";
import {
  type DeadLetterFilter,
  type DeathReason,
  eventOrUnreadable,
  type StoredDeadLetters,
} from "../dead-letters.js";
import type { Chores, MovedRow } from "./chores.js";
import type { Counts } from "./counts.js";
import type { Database, Statements, Value } from "./database.js";
import {
  conditions,
  DEAD,
  DONE,
  EVENT,
  type EventRow,
  eventOf,
  forgotten,
  historyOf,
  inState,
  marks,
  seqsOf,
} from "./rows.js";

interface LetterRow extends EventRow {
  readonly size: number;
  readonly reason: DeathReason;
  readonly death: string;
  readonly at_ms: number;
}

/** A dead letter that was removed, and its size in bytes. */
export interface Evicted {
  readonly event: OutboxEvent;
  readonly size: number;
}

/** What finds a dead letter. */
export interface Letter {
  readonly id: string;
  readonly destination: number;
}

const REVIVED_AT_ONCE = 50;
const LETTER = `${EVENT}, e.size, e.reason, e.death, e.at_ms`;

const isSelected = ({ kind, reason }: DeadLetterFilter, destination: number | undefined, id?: string) => {
  const { text, values } = conditions({ destination, kind: kind && priorityOf(kind), reason, id });
  return { text: `${inState(DEAD)} and ${text}`, values };
};

/** Calls `onRevived` when something can be delivered again. */
export function createDeadLetters(
  database: Database,
  options: { counts: Counts; rememberMs: number; chores: Chores; onRevived: () => void },
) {
  const { counts, rememberMs, chores, onRevived } = options;
  const { words } = database;
  const { events, now } = words;

  async function rows<Row>(text: string, values: readonly Value[]): Promise<Row[]> {
    await database.ready();
    return database.rows<Row>(text, values);
  }

  /** Queues some again, all of one destination: each at the end of its visitor's queue. */
  async function revive(where: string, values: readonly Value[], isNeverSent = false): Promise<number> {
    const moved = await counts.during(() =>
      database.transaction((tx) =>
        chores.move(tx, `${inState(DEAD)} and ${where} order by created_at, seq`, values, (row) => {
          const event = letterEventOf(row);
          // As it was.
          if (isNeverSent)
            return { event, queuedAt: Number(row.queued_at), history: historyOf(row), isDue: true };
          const maybeTaken = row.reason === "unconfirmed" || historyOf(row).maybeTaken;
          return { event, queuedAt: Number(row.now), history: { ...UNTRIED, maybeTaken }, isDue: true };
        }),
      ),
    );
    for (const row of moved) {
      const kind = kindOfPriority(Number(row.kind));
      counts.addDead(
        Number(row.destination),
        { kind, reason: row.reason as DeathReason },
        -1,
        Number(row.size),
      );
      counts.add(Number(row.destination), kind, 1, { bytes: row.data.length });
    }
    if (moved.length > 0) onRevived();
    return moved.length;
  }

  /** Those that can be read, in the order in which they happened. */
  async function meant(where: string, values: readonly Value[]): Promise<Letter[]> {
    const found = await rows<Pick<EventRow, "destination" | "id">>(
      `select destination, id from ${events} where ${where} and data like '{%' order by created_at, seq`,
      values,
    );
    return found.map(({ destination, id }) => ({ destination: Number(destination), id }));
  }

  /** Queues these again. Resolves to how many were still there. */
  async function retryThese(letters: readonly Letter[]): Promise<number> {
    let revived = 0;
    for (const destination of new Set(letters.map((each) => each.destination))) {
      const ids = letters.filter((each) => each.destination === destination).map(({ id }) => id);
      for (let nth = 0; nth < ids.length; nth += REVIVED_AT_ONCE) {
        const some = ids.slice(nth, nth + REVIVED_AT_ONCE);
        revived += await revive(`destination = ? and id in (${marks(some)})`, [destination, ...some]);
      }
    }
    return revived;
  }

  /** Removes the oldest, at most so many. Their ids stay known as if they had been delivered. */
  async function remove(where: string, values: readonly Value[], limit = 1): Promise<Evicted[]> {
    await database.ready();
    const removed = await counts.during(() =>
      database.transaction(async (tx: Statements) => {
        const found = await tx.rows<LetterRow>(
          `select ${LETTER} from ${events} e where ${where} order by at_ms, seq limit ${limit}${words.forUpdate}`,
          values,
        );
        if (found.length > 0) {
          const text = `update ${events} set ${forgotten(DONE, now, rememberMs)} where seq in (${marks(found)})`;
          await tx.write(text, seqsOf(found));
        }
        return found;
      }),
    );
    return removed.map((row) => {
      const size = Number(row.size);
      const kind = kindOfPriority(Number(row.kind));
      counts.addDead(Number(row.destination), { kind, reason: row.reason }, -1, size);
      return { event: letterEventOf(row), size };
    });
  }

  /** What `retryAll` means. */
  function retried(filter: DeadLetterFilter, destination: number | undefined): Promise<Letter[]> {
    const { text, values } = isSelected(filter, destination);
    return meant(filter.reason === undefined ? `${text} and reason <> 'unconfirmed'` : text, values);
  }

  const deadLetters: StoredDeadLetters = {
    async list({ limit = 100, id, ...filter }, destination) {
      const { text, values } = isSelected(filter, destination, id);
      const most = Number.isFinite(limit) ? ` limit ${limit}` : "";
      const found = await rows<LetterRow>(
        `select ${LETTER} from ${events} e where ${text} order by at_ms, seq${most}`,
        values,
      );
      return found.map((row) => {
        const { id, kind, createdAt } = letterEventOf(row);
        const death = { reason: row.reason, attempts: 0, ...objectFromJson(row.death) };
        const event = eventOrUnreadable(objectFromJson(row.data));
        return {
          ...{ id, kind, createdAt },
          destination: Number(row.destination),
          ...event,
          ...death,
          diedAt: Number(row.at_ms),
        };
      });
    },
    async sums(filter, destination) {
      const { text, values } = isSelected(filter, destination);
      const found = await rows<Record<"kind" | "number" | "amount", number> & { reason: DeathReason }>(
        `select kind, reason, count(*) as number, sum(amount) as amount from ${events} where ${text} group by kind, reason`,
        values,
      );
      return found.map(({ kind, reason, number, amount }) => ({
        ...{ kind: kindOfPriority(Number(kind)), reason },
        ...{ count: Number(number), amount: Number(amount ?? 0) },
      }));
    },
    async ids(filter, destination) {
      const { text, values } = isSelected(filter, destination);
      const found = await rows<{ id: string }>(
        `select id from ${events} where ${text} order by at_ms, seq`,
        values,
      );
      return found.map(({ id }) => id);
    },
    async retry(id, destination) {
      const { text, values } = isSelected({}, destination, id);
      return (await retryThese(await meant(text, values))) > 0;
    },
    retryAll: async (filter, destination) => retryThese(await retried(filter, destination)),
    async discard(id, destination) {
      const { text, values } = isSelected({}, destination, id);
      return (await remove(text, values)).length > 0;
    },
  };

  return {
    deadLetters,
    retried,
    /** Those with this id that can be read, of one destination or of all. */
    lettersWith(id: string, destination: number | undefined): Promise<Letter[]> {
      const { text, values } = isSelected({}, destination, id);
      return meant(text, values);
    },
    retryThese,
    /** Queues an event again, as it was, that another process holds and that was never sent. */
    async reviveInterrupted({ id, destination }: OutboxEvent): Promise<void> {
      const isHeld = `destination = ? and id = ? and reason = 'unconfirmed' and death like '%"ERR_INTERRUPTED"%'`;
      await revive(isHeld, [destination, id], true);
    },
    evictOldest(destination: number, kind: EventKind, limit: number): Promise<readonly Evicted[]> {
      const { text, values } = isSelected({ kind }, destination);
      return remove(text, values, limit);
    },
  };
}

/** Without data if its row cannot be read. */
function letterEventOf(row: EventRow | MovedRow): OutboxEvent {
  return eventOf(row, eventOrUnreadable(objectFromJson(row.data)).event);
}
