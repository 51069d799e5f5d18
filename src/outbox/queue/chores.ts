import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { type CountRow, changeOf } from "./counts.js";
import type { Database, Statements, Value } from "./database.js";
import type { createEnqueue, Incoming } from "./enqueue.js";
import { CLAIMED, RESTING, rankInSql } from "./ranks.js";
import { type EventRow, eventOf, inState, marks, NEW, SCHEDULED, seqsOf } from "./rows.js";
import type { Scope } from "./scope.js";
import type { ServerClock } from "./server-clock.js";

/** Counts what a transaction changes, and tells of the clicks that it has shed. */
export type Changing = <Done extends Pick<Moved, "shed">>(
  work: () => Promise<Done>,
  effect?: (done: Done) => readonly CountRow[],
) => Promise<Done>;

export type Chores = ReturnType<typeof createChores>;

/** A row that is to be queued anew, with the database's time. */
export interface MovedRow extends EventRow {
  readonly now: number;
}

interface Moved {
  readonly moved: readonly MovedRow[];
  /** Clicks of visitors who have more than may wait, removed. */
  readonly shed: readonly OutboxEvent[];
}

type As = (row: MovedRow) => Omit<Incoming, "report">;

type Only = (
  tx: Statements,
  found: readonly MovedRow[],
) => readonly MovedRow[] | Promise<readonly MovedRow[]>;

const AT_ONCE = 100;
const NEW_AT_MOST = 1_000;

/**
 * Work that is due before a claim, which looks whether there is any: places new events, ends rests,
 * takes over what ended processes left.
 */
export function createChores(
  database: Database,
  options: {
    worker: string;
    scope: Scope;
    enqueue: ReturnType<typeof createEnqueue>;
    serverClock: ServerClock;
    /** Whether this process has this claimed event. */
    isUnderWay: (seq: number) => boolean;
    changing: Changing;
  },
) {
  const { worker, scope, enqueue, serverClock, isUnderWay, changing } = options;
  const { words } = database;
  const { events, queues, now } = words;
  const rank = rankInSql("urgency", "tried", "endpoint");
  // With `at_ms = 0`, the index gives them in order. Without it, MySQL would lock them all.
  const isNew = () => `${scope.condition} and ${inState(NEW)} and at_ms = 0`;

  /**
   * Appends events that are in no queue to their visitors' queues, and clears `interrupted`. One whose
   * data cannot be read is a visitor of its own.
   */
  async function move(
    tx: Statements,
    where: string,
    values: readonly Value[],
    as: As,
    only: Only = (_, found) => found,
  ): Promise<Moved> {
    const found = await tx.rows<MovedRow>(
      `select e.*, ${now} as now from ${events} e
       where ${where} limit ${AT_ONCE}${words.skipLocked}`,
      values,
    );
    const moved = await only(tx, found);
    const { shed } = await enqueue.enqueue(
      tx,
      // Their own reports: an append that is repeated still finds what it has stored.
      moved.map((row) => ({ report: row.report, seq: row.seq, ...as(row) })),
    );
    return { moved, shed };
  }

  /** The ids of those that must follow a new event of their visitor that another process is placing. */
  async function behind(
    on: Statements,
    own: readonly { readonly seq: number; readonly event: OutboxEvent }[],
  ): Promise<ReadonlySet<string>> {
    const last = own.at(-1)?.seq ?? 0;
    const seqs = [0, ...seqsOf(own)];
    const others = await on.rows<EventRow>(
      `select e.* from ${events} e where ${isNew()} and seq < ? and seq not in (${marks(seqs)})
       order by seq limit ${NEW_AT_MOST}`,
      [last, ...seqs],
    );
    if (others.length === 0) return new Set();
    // Or may have to.
    if (others.length === NEW_AT_MOST) return new Set(own.map(({ event }) => event.id));
    const isOther = new Set(seqsOf(others));
    const all = [...others.map((row) => ({ seq: row.seq, event: eventOf(row) })), ...own].sort(
      (one, other) => one.seq - other.seq,
    );
    const places = await enqueue.placesOf(
      on,
      all.map(({ event }) => event),
    );
    const visitors = new Set<string>();
    const ids = new Set<string>();
    for (const [nth, { seq, event }] of all.entries()) {
      const visitor = places[nth]?.visitor as string;
      if (isOther.has(seq)) visitors.add(visitor);
      else if (visitors.has(visitor)) ids.add(event.id);
    }
    return ids;
  }

  /** Due queues of this rank, the earliest first; locked ones are left out. */
  async function dueQueues(tx: Statements, turn: number, time: string) {
    return tx.rows<{ visitor: string; head: number; claimed_by: string | null }>(
      `select visitor, head, claimed_by from ${queues}
       where ${scope.condition} and turn = ${turn} and due_at <= ${time} order by due_at limit ${AT_ONCE}${words.skipLocked}`,
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

  return {
    move,
    /** What hosts' transactions have stored gets its place. */
    async place(): Promise<void> {
      for (let mayHaveMore = true; mayHaveMore; ) {
        let isFull = false;
        const inTurn: Only = async (tx, found) => {
          isFull = found.length === AT_ONCE;
          const ids = await behind(
            tx,
            found.map((row) => ({ seq: row.seq, event: eventOf(row) })),
          );
          return found.filter(({ id }) => !ids.has(id));
        };
        const { moved } = await changing(() =>
          database.transaction((tx) =>
            move(tx, `${isNew()} order by seq`, [], (row) => ({ event: eventOf(row) }), inTurn),
          ),
        );
        mayHaveMore = isFull && moved.length > 0;
      }
    },
    /** Whether one of these must follow an event that another process is placing, or may have to. */
    async areBehind(coming: readonly OutboxEvent[]): Promise<boolean> {
      const own = coming.map((event) => ({ seq: Number.MAX_SAFE_INTEGER, event }));
      return (await behind(database, own)).size > 0;
    },
    /** Queues scheduled payments that are due. */
    release: (): Promise<Moved> =>
      changing(
        () =>
          database.transaction((tx) =>
            move(
              tx,
              `${scope.condition} and ${inState(SCHEDULED)} and at_ms <= ${now} order by at_ms, seq`,
              [],
              (row) => {
                const event = eventOf(row);
                const createdAt = notBeforeOf(event) ?? event.createdAt;
                return { event: { ...event, createdAt }, queuedAt: createdAt, isDue: true };
              },
            ),
          ),
        ({ moved }) =>
          moved.flatMap((row) => [
            changeOf(eventOf(row, {}), "scheduled", -1),
            changeOf(eventOf(row, {}), "queued", 1),
          ]),
      ),
    /** Heads that have rested. */
    endRests: (): Promise<void> =>
      database.transaction(async (tx) => makeReady(tx, await dueQueues(tx, RESTING, now), "")),
    /** What ended processes have left: their attempts may have been made. */
    takeOver: (): Promise<void> =>
      database.transaction(async (tx) => {
        const rows = await dueQueues(tx, CLAIMED, serverClock.leaseEnd(now));
        const left = rows.filter(({ head, claimed_by }) => claimed_by !== worker || !isUnderWay(head));
        // This process knows that no request for its own claims has left.
        const headsOfOthers = left.filter(({ claimed_by }) => claimed_by !== worker).map(({ head }) => head);
        if (headsOfOthers.length > 0) {
          await tx.write(
            `update ${events} set interrupted = 1 where seq in (${marks(headsOfOthers)})`,
            headsOfOthers,
          );
        }
        await makeReady(tx, left, `, due_at = ${now}, claimed_by = null`);
      }),
  };
}
