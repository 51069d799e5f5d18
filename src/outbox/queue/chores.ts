import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import type { Database, Statements, Value } from "./database.js";
import type { createEnqueue, Incoming } from "./enqueue.js";
import { CLAIMED, RESTING, rankInSql } from "./ranks.js";
import { EVENT, type EventRow, eventOf, inState, marks, NEW, SCHEDULED, seqsOf } from "./rows.js";
import type { ServerClock } from "./server-clock.js";

export type Chores = ReturnType<typeof createChores>;

/** A row that is to be queued anew, with the database's time. */
export interface MovedRow extends EventRow {
  readonly report: string;
  readonly size: number;
  readonly reason: string | null;
  readonly death: string | null;
  readonly now: number;
}

const AT_ONCE = 100;

/** What time brings, or a host's transaction. A claim looks whether there is something to do. */
export function createChores(
  database: Database,
  options: {
    worker: string;
    enqueue: ReturnType<typeof createEnqueue>;
    serverClock: ServerClock;
    /** Whether this process has this claimed event. */
    isUnderWay: (seq: number) => boolean;
    /** A visitor has more clicks than may wait. */
    onCrowded: (event: OutboxEvent) => void;
    /** Scheduled payments have become due. */
    onReleased: (destination: number, number: number) => void;
  },
) {
  const { worker, enqueue, serverClock, isUnderWay, onCrowded, onReleased } = options;
  const { words } = database;
  const { events, queues, now } = words;
  const rank = rankInSql("urgency", "tried", "endpoint");

  /** In one transaction, as everything in a database where each runs alone. */
  function inOne<T>(tx: Statements, work: (tx: Statements) => Promise<T>): Promise<T> {
    return words.isSerial ? work(tx) : database.transaction(work);
  }

  /** Moves events to the ends of their visitors' queues: each gets a new number. Resolves to them. */
  async function move(
    tx: Statements,
    where: string,
    values: readonly Value[],
    as: (row: MovedRow) => Omit<Incoming, "report">,
  ): Promise<MovedRow[]> {
    const rows = await tx.rows<MovedRow>(
      `select ${EVENT}, e.report, e.size, e.reason, e.death, ${now} as now from ${events} e
       where ${where} limit ${AT_ONCE}${words.skipLocked}`,
      values,
    );
    if (rows.length === 0) return [];
    await tx.write(`delete from ${events} where seq in (${marks(rows)})`, seqsOf(rows));
    // Their own reports: an append that is repeated still finds what it has stored.
    const incoming = rows.map((row) => ({ report: row.report, ...as(row) }));
    const stored = await enqueue.enqueue(tx, incoming);
    for (const [nth, { event }] of incoming.entries()) if (stored[nth] === "crowded") onCrowded(event);
    return rows;
  }

  /** Of queues that are `turn` and due, by the first that are not locked. */
  async function dueQueues(tx: Statements, destination: number, turn: number, time: string) {
    return tx.rows<{ visitor: string; head: number; claimed_by: string | null }>(
      `select visitor, head, claimed_by from ${queues}
       where destination = ? and turn = ${turn} and due_at <= ${time} order by due_at limit ${AT_ONCE}${words.skipLocked}`,
      [destination],
    );
  }

  async function makeReady(tx: Statements, rows: readonly { visitor: string }[], set: string): Promise<void> {
    if (rows.length === 0) return;
    const visitors = rows.map(({ visitor }) => visitor);
    await tx.write(
      `update ${queues} set turn = ${rank}${set} where visitor in (${marks(visitors)})`,
      visitors,
    );
  }

  const placed = (row: MovedRow) => ({ event: eventOf(row) });

  return {
    move,
    /** The same for one event: `destination` and `id`. */
    placeOne: (tx: Statements, values: readonly Value[]) =>
      move(tx, `destination = ? and id = ? and ${inState(NEW)}`, values, placed),
    /** What hosts' transactions have stored gets its place. */
    async place(tx: Statements, destination: number): Promise<void> {
      const some = (on: Statements) =>
        move(on, `destination = ? and ${inState(NEW)} order by seq`, [destination], placed);
      while ((await inOne(tx, some)).length === AT_ONCE);
    },
    /** Queues scheduled payments that are due. Resolves to their number. */
    async release(tx: Statements, destination: number): Promise<number> {
      const moved = await inOne(tx, (on) =>
        move(
          on,
          `destination = ? and ${inState(SCHEDULED)} and at_ms <= ${now} order by at_ms, seq`,
          [destination],
          (row) => {
            const event = eventOf(row);
            const createdAt = notBeforeOf(event) as number;
            return { event: { ...event, createdAt }, queuedAt: createdAt, isDue: true };
          },
        ),
      );
      onReleased(destination, moved.length);
      return moved.length;
    },
    /** Heads that have rested. */
    unpark: (tx: Statements, destination: number): Promise<void> =>
      inOne(tx, async (on) => makeReady(on, await dueQueues(on, destination, RESTING, now), "")),
    /** What ended processes have left: their attempts may have been made. */
    takeOver: (tx: Statements, destination: number): Promise<void> =>
      inOne(tx, async (on) => {
        const rows = await dueQueues(on, destination, CLAIMED, serverClock.leaseEnd(now));
        const left = rows.filter(
          ({ head, claimed_by }) => claimed_by !== worker || !isUnderWay(Number(head)),
        );
        // This process would know what it had sent.
        const others = left.filter(({ claimed_by }) => claimed_by !== worker).map(({ head }) => Number(head));
        if (others.length > 0) {
          await on.write(`update ${events} set interrupted = 1 where seq in (${marks(others)})`, others);
        }
        await makeReady(on, left, `, due_at = ${now}, claimed_by = null`);
      }),
  };
}
