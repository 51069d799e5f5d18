import type { Database } from "./database.js";
import type { createQueues } from "./queues.js";
import { CLAIMED, RESTING } from "./ranks.js";
import { DONE, inState, marks, QUEUED, seqsOf } from "./rows.js";

// Few, so that no other statement waits, and a replica keeps up.
const AT_ONCE = 500;
const VISITORS_AT_ONCE = 10_000;
// The longest rest is an hour, and so is the longest lease.
const FARTHEST_MS = 2 * 3_600_000;

/**
 * Once a minute. Several processes may do so at a time.
 *
 * @param options.patienceMs a process renews its leases more often, unless they are longer than three
 * times that: then another one may take its claims over.
 */
export function createUpkeep(
  database: Database,
  options: { queues: ReturnType<typeof createQueues>; patienceMs: number; now: () => number },
) {
  const { queues, patienceMs, now: ownNow } = options;
  const { words } = database;
  const { events, queues: table, now } = words;
  let lookedUntil = "";

  /**
   * Forgets old ids, by the database's clock and by this process's: if one of them is far ahead, the
   * other one is right.
   *
   * @param most so many times `AT_ONCE` of each destination.
   */
  async function forgetOld(most: number): Promise<void> {
    const isDone = inState(DONE);
    for (let destination = -1; ; ) {
      // By a look at the index for each: there may be millions of ids.
      const next = `select min(destination) as next from ${events} where ${isDone} and destination > ?`;
      const [row] = await database.rows(next, [destination]);
      if (row?.next == null) break;
      destination = row.next;
      const isOld = `${isDone} and destination = ? and at_ms < ${now} and at_ms < ?`;
      const values = [destination, ownNow()];
      for (let nth = 0; nth < most; nth++) {
        const select = `select seq from ${events} where ${isOld} order by at_ms limit ${AT_ONCE}`;
        const rows = await database.rows(select, values);
        if (rows.length === 0) break;
        const those = `seq in (${marks(rows)}) and ${isOld}`;
        await database.write(`delete from ${events} where ${those}`, [...seqsOf(rows), ...values]);
      }
    }
  }

  /**
   * A rest that ends later than any can is over, and a lease ends unless its process renews it: the
   * database's clock was set back.
   */
  async function endFar(): Promise<void> {
    const isFar = `turn in (${RESTING}, ${CLAIMED}) and due_at > ${now} + ${FARTHEST_MS}`;
    const far = await database.rows(`select visitor from ${table} where ${isFar} limit ${AT_ONCE}`);
    if (far.length === 0) return;
    await database.write(
      `update ${table} set due_at = ${now} + case turn when ${CLAIMED} then ${patienceMs} else 0 end
       where visitor in (${marks(far)}) and ${isFar}`,
      far.map(({ visitor }) => visitor),
    );
  }

  /**
   * Repairs `queues`, which is wrong after rows were deleted by hand: queues without their head, and
   * events without a queue, or in one that does not know of them. Looks at some visitors at a time.
   */
  async function repair(): Promise<void> {
    const page = (columns: string, from: string) =>
      `(select ${columns} from ${from} visitor > ? order by visitor limit ${VISITORS_AT_ONCE}) as p`;
    const queuesPage = page("visitor, head, has_more", `${table} where`);
    const eventsPage = page("distinct visitor", `${events} where state = ${QUEUED} and`);
    const lastOf = (from: string) => `select max(visitor) as last, count(*) as number from ${from}`;
    const pages = await database.rows<{ last: string; number: number }>(
      `${lastOf(queuesPage)} union all ${lastOf(eventsPage)}`,
      [lookedUntil, lookedUntil],
    );
    const wrong = await database.rows<{ visitor: string }>(
      `select p.visitor from ${queuesPage}
       left join ${events} e on e.seq = p.head and e.state = ${QUEUED} and e.visitor = p.visitor where e.seq is null
       union
       select p.visitor from ${eventsPage} left join ${table} q on q.visitor = p.visitor where q.visitor is null
       union
       select p.visitor from ${queuesPage}
       join ${events} e on e.visitor = p.visitor and e.state = ${QUEUED} and e.seq <> p.head where p.has_more = 0`,
      [lookedUntil, lookedUntil, lookedUntil],
    );
    const full = pages.filter(({ number }) => number === VISITORS_AT_ONCE);
    lookedUntil = full.map(({ last }) => last).sort()[0] ?? "";
    for (let nth = 0; nth < wrong.length; nth += AT_ONCE) await repairSome(wrong.slice(nth, nth + AT_ONCE));
  }

  const repairSome = (wrong: readonly { visitor: string }[]): Promise<void> =>
    database.transaction(async (tx) => {
      const rows = await tx.rows<{ visitor: string; destination: number; last: number }>(
        `select e.visitor, min(e.destination) as destination, max(e.place) as last from ${events} e${words.byVisitorAndKind}
         where e.state = ${QUEUED} and e.visitor in (${marks(wrong)}) group by e.visitor`,
        wrong.map(({ visitor }) => visitor),
      );
      if (rows.length > 0) {
        // A head that no event has: `refresh` finds the right one.
        await tx.write(
          `insert into ${table} (visitor, destination, head, urgency, endpoint, tried, turn, due_at, place)
           values ${marks(rows, `(?, ?, 0, 1, 0, 0, ${RESTING}, 0, ?)`)} ${words.orIgnore("visitor")}`,
          rows.flatMap(({ visitor, destination, last }) => [visitor, destination, last]),
        );
      }
      const locked = await queues.lock(tx, wrong);
      const visitors = [...locked.keys()];
      if (visitors.length > 0)
        await tx.write(`update ${table} set has_more = 1 where visitor in (${marks(visitors)})`, visitors);
      await queues.refresh(tx, locked);
    });

  return {
    async upkeep(most = Number.POSITIVE_INFINITY): Promise<void> {
      await endFar();
      await repair();
      await forgetOld(most);
    },
    /** Of all visitors. */
    async repairAll(): Promise<void> {
      lookedUntil = "";
      do await repair();
      while (lookedUntil !== "");
    },
  };
}
