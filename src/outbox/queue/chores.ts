import { notBeforeOf, type OutboxEvent } from "../../conversion/events.js";
import { type CountRow, changeOf } from "./counts.js";
import type { Database, Scope, Statements, Value } from "./database.js";
import type { createEnqueue, Incoming } from "./enqueue.js";
import type { ServerClock, UnderWay } from "./leases.js";
import { CLAIMED, RESTING, rankInSql } from "./ranks.js";
import { type EventRow, eventOf, inState, marks, NEW, SCHEDULED, seqsOf } from "./rows.js";

/** Counts what a transaction changes, and tells of the clicks that it has shed. */
export type Changing = <Done extends Pick<Moved, "shed">>(
  work: () => Promise<Done>,
  effect?: (done: Done) => readonly CountRow[],
) => Promise<Done>;

export type Chores = ReturnType<typeof createChores>;

/** A row that is to be queued anew, with the database's time. */
interface MovedRow extends EventRow {
  readonly now: number;
}

interface Moved {
  readonly moved: readonly MovedRow[];
  /** Whether there may be more. */
  readonly isFull: boolean;
  /** Clicks of visitors who have more than may wait, removed. */
  readonly shed: readonly OutboxEvent[];
}

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
    underWay: UnderWay;
    changing: Changing;
  },
) {
  const { worker, scope, enqueue, serverClock, underWay, changing } = options;
  const { words } = database;
  const { events, queues, now } = words;
  const rank = rankInSql("urgency", "tried", "endpoint");
  // With `at_ms = 0`, the index gives them in order. Without it, MySQL would lock them all.
  const isNew = () => `${scope.condition} and ${inState(NEW)} and at_ms = 0`;

  /**
   * Appends events that are in no queue to their visitors' queues, and clears `interrupted`. One whose
   * data cannot be read is a visitor of its own. New ones that are `behind` others stay.
   *
   * @param as `undefined`: it stays.
   * @param effect what each changes in the counts.
   */
  const move = (
    where: string,
    values: readonly Value[],
    as: (row: MovedRow) => Omit<Incoming, "report"> | undefined,
    effect: (row: MovedRow) => readonly CountRow[] = () => [],
  ): Promise<Moved> =>
    changing(
      () =>
        database.transaction(async (tx) => {
          const found = await tx.rows<MovedRow>(
            `select ${now} as now, e.* from ${events} e where ${where} limit ${AT_ONCE}${words.skipLocked}`,
            values,
          );
          const fresh = found.filter(({ state }) => state === NEW);
          const late = await behind(tx, eventsOf(fresh));
          const moved: MovedRow[] = [];
          const batch: Incoming[] = [];
          for (const row of found) {
            const incoming = late.has(row.seq) ? undefined : as(row);
            if (!incoming) continue;
            moved.push(row);
            // Its own report: an append that is repeated still finds what it has stored.
            batch.push({ report: row.report, seq: row.seq, ...incoming });
          }
          const { shed } = await enqueue.enqueue(tx, batch);
          return { moved, isFull: found.length === AT_ONCE, shed };
        }),
      ({ moved }) => moved.flatMap(effect),
    );

  const eventsOf = (rows: readonly EventRow[]) => rows.map((row) => ({ seq: row.seq, event: eventOf(row) }));

  /**
   * Which of these must follow a new event of their visitor that is not one of them: another process
   * is giving that its place, or has to.
   */
  async function behind(
    on: Statements,
    fresh: readonly { readonly seq: number; readonly event: OutboxEvent }[],
  ): Promise<ReadonlySet<number>> {
    if (fresh.length === 0) return new Set();
    const seqs = seqsOf(fresh);
    const earlier = await on.rows<EventRow>(
      `select e.* from ${events} e where ${isNew()} and seq < ? and seq not in (${marks(seqs)})
       order by seq limit ${NEW_AT_MOST}`,
      [seqs.at(-1) ?? 0, ...seqs],
    );
    if (earlier.length === 0) return new Set();
    // Further ones may be there.
    if (earlier.length === NEW_AT_MOST) return new Set(seqs);
    const earlierSeqs = new Set(seqsOf(earlier));
    const all = [...eventsOf(earlier), ...fresh].sort((one, other) => one.seq - other.seq);
    const coming = all.map(({ event }) => event);
    const places = await enqueue.placesOf(on, coming);
    const visitors = new Set<string>();
    const late = new Set<number>();
    for (const [nth, { seq }] of all.entries()) {
      const visitor = places[nth]?.visitor as string;
      if (earlierSeqs.has(seq)) visitors.add(visitor);
      else if (visitors.has(visitor)) late.add(seq);
    }
    return late;
  }

  /** Queues of this rank, in the order in which they are due. Leaves out locked ones. */
  const queuesOf = (tx: Statements, turn: number, condition: string, values: readonly Value[] = []) =>
    tx.rows<{ visitor: string; head: number; claimed_by: string | null }>(
      `select visitor, head, claimed_by from ${queues}
       where ${scope.condition} and turn = ${turn} and ${condition} order by due_at limit ${AT_ONCE}${words.skipLocked}`,
      values,
    );

  async function makeReady(
    tx: Statements,
    rows: readonly { readonly visitor: string }[],
    set = `, due_at = ${now}, claimed_by = null`,
  ): Promise<void> {
    if (rows.length === 0) return;
    const visitors = rows.map(({ visitor }) => visitor);
    await tx.write(`update ${queues} set turn = ${rank}${set} where visitor in (${marks(rows)})`, visitors);
  }

  return {
    move,
    /** What hosts' transactions have stored gets its place. */
    async place(): Promise<void> {
      let last: Moved;
      do last = await move(`${isNew()} order by seq`, [], (row) => ({ event: eventOf(row) }));
      while (last.isFull && last.moved.length > 0);
    },
    /** Whether one of these must follow an event that has no place yet. */
    async areBehind(coming: readonly OutboxEvent[]): Promise<boolean> {
      const fresh = coming.map((event) => ({ seq: Number.MAX_SAFE_INTEGER, event }));
      return (await behind(database, fresh)).size > 0;
    },
    /** Queues scheduled payments that are due. Resolves to how many. */
    async queueDue(): Promise<number> {
      const { moved } = await move(
        `${scope.condition} and ${inState(SCHEDULED)} and at_ms <= ${now} order by at_ms, seq`,
        [],
        (row) => {
          const event = eventOf(row);
          const createdAt = notBeforeOf(event) ?? event.createdAt;
          return { event: { ...event, createdAt }, queuedAt: createdAt, isDue: true };
        },
        (row) => [changeOf(eventOf(row, {}), "scheduled", -1), changeOf(eventOf(row, {}), "queued", 1)],
      );
      return moved.length;
    },
    /** Heads that have rested. */
    endRests: (): Promise<void> =>
      database.transaction(async (tx) => makeReady(tx, await queuesOf(tx, RESTING, `due_at <= ${now}`), "")),
    /** What ended processes have left: their attempts may have been made. */
    takeOver: (): Promise<void> =>
      database.transaction(async (tx) => {
        const rows = await queuesOf(tx, CLAIMED, `due_at <= ${serverClock.leaseEnd(now)}`);
        const left = rows.filter(({ head, claimed_by }) => claimed_by !== worker || !underWay.has(head));
        // This process knows that no request for its own claims has left.
        const heads = left.filter(({ claimed_by }) => claimed_by !== worker).map(({ head }) => head);
        if (heads.length > 0)
          await tx.write(`update ${events} set interrupted = 1 where seq in (${marks(heads)})`, heads);
        await makeReady(tx, left);
      }),
    /**
     * Gives back, untried, what this process has claimed and `underWay` does not have: the answer was
     * lost, or the process exits.
     */
    async giveBackUnknown(): Promise<void> {
      const known = [0, ...underWay.keys()];
      const isUnknown = `claimed_by = ? and head not in (${marks(known)})`;
      const giveBack = async (tx: Statements): Promise<number> => {
        const rows = await queuesOf(tx, CLAIMED, isUnknown, [worker, ...known]);
        await makeReady(tx, rows);
        return rows.length;
      };
      while ((await database.transaction(giveBack)) === AT_ONCE);
    },
  };
}
