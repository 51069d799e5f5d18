import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { type CountRow, changeOf } from "./counts.js";
import type { Database, Statements, Value } from "./database.js";
import type { createEnqueue, Incoming } from "./enqueue.js";
import { CLAIMED, RESTING, rankInSql } from "./ranks.js";
import { EVENT, type EventRow, eventOf, inState, marks, NEW, SCHEDULED, seqsOf } from "./rows.js";
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
  readonly report: string;
  readonly size: number;
  readonly reason: string | null;
  readonly death: string | null;
  readonly now: number;
}

interface Moved {
  readonly moved: readonly MovedRow[];
  /** Clicks of visitors who have more than may wait, removed. */
  readonly shed: readonly OutboxEvent[];
}

type As = (row: MovedRow) => Omit<Incoming, "report">;

type Only = (found: readonly MovedRow[]) => readonly MovedRow[] | Promise<readonly MovedRow[]>;

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
    only: Only = (found) => found,
  ): Promise<Moved> {
    const found = await tx.rows<MovedRow>(
      `select ${EVENT}, e.report, e.size, e.reason, e.death, ${now} as now from ${events} e
       where ${where} limit ${AT_ONCE}${words.skipLocked}`,
      values,
    );
    const moved = await only(found);
    const { shed } = await enqueue.enqueueInRows(
      tx,
      // Their own reports: an append that is repeated still finds what it has stored.
      moved.map((row) => ({ report: row.report, seq: Number(row.seq), ...as(row) })),
    );
    return { moved, shed };
  }

  /** Those without an earlier event of their visitor that another process is placing. */
  async function inTurn(tx: Statements, found: readonly MovedRow[]): Promise<readonly MovedRow[]> {
    const last = found.at(-1);
    if (!last) return [];
    const before = await tx.rows<EventRow>(
      `select ${EVENT} from ${events} e where ${isNew()} and seq < ? and seq not in (${marks(found)})`,
      [...scope.values, Number(last.seq), ...seqsOf(found)],
    );
    if (before.length === 0) return found;
    const all = [...before, ...found].sort((one, other) => Number(one.seq) - Number(other.seq));
    const behind = await behindIn(
      tx,
      all.map((row) => eventOf(row)),
      new Set(before.map(({ id }) => id)),
    );
    return found.filter(({ id }) => !behind.has(id));
  }

  /** The ids of events that follow an event of the same visitor in `elsewhere`. */
  async function behindIn(
    tx: Statements,
    all: readonly OutboxEvent[],
    elsewhere: ReadonlySet<string>,
  ): Promise<Set<string>> {
    const places = await enqueue.placesOf(tx, all);
    const visitors = new Set<string>();
    const behind = new Set<string>();
    for (const [nth, { id }] of all.entries()) {
      const visitor = places[nth]?.visitor as string;
      if (elsewhere.has(id)) visitors.add(visitor);
      else if (visitors.has(visitor)) behind.add(id);
    }
    return behind;
  }

  /** Due queues of this rank, the earliest first; locked ones are left out. */
  async function dueQueues(tx: Statements, turn: number, time: string) {
    return tx.rows<{ visitor: string; head: number; claimed_by: string | null }>(
      `select visitor, head, claimed_by from ${queues}
       where ${scope.condition} and turn = ${turn} and due_at <= ${time} order by due_at limit ${AT_ONCE}${words.skipLocked}`,
      scope.values,
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

  const placed: As = (row) => ({ event: eventOf(row) });

  return {
    move,
    /** What hosts' transactions have stored gets its place. */
    async place(): Promise<void> {
      for (let mayHaveMore = true; mayHaveMore; ) {
        let isFull = false;
        const { moved } = await changing(() =>
          database.transaction((tx) =>
            move(tx, `${isNew()} order by seq`, scope.values, placed, (found) => {
              isFull = found.length === AT_ONCE;
              return inTurn(tx, found);
            }),
          ),
        );
        mayHaveMore = isFull && moved.length > 0;
      }
    },
    /** Whether one of these must follow an event that another process is placing, or may have to. */
    async areBehind(coming: readonly OutboxEvent[]): Promise<boolean> {
      if (coming.length === 0) return false;
      const rows = await database.rows<EventRow>(
        `select ${EVENT} from ${events} e where ${isNew()} order by seq limit ${NEW_AT_MOST}`,
        scope.values,
      );
      if (rows.length === 0) return false;
      if (rows.length === NEW_AT_MOST) return true;
      const all = [...rows.map((row) => eventOf(row)), ...coming];
      return (await behindIn(database, all, new Set(rows.map(({ id }) => id)))).size > 0;
    },
    /** Queues scheduled payments that are due. */
    release: (): Promise<Moved> =>
      changing(
        () =>
          database.transaction((tx) =>
            move(
              tx,
              `${scope.condition} and ${inState(SCHEDULED)} and at_ms <= ${now} order by at_ms, seq`,
              scope.values,
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
        const left = rows.filter(
          ({ head, claimed_by }) => claimed_by !== worker || !isUnderWay(Number(head)),
        );
        // This process knows that no request for its own claims has left.
        const headsOfOthers = left
          .filter(({ claimed_by }) => claimed_by !== worker)
          .map(({ head }) => Number(head));
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
