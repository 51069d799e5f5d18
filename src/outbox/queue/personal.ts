import { objectFromJson } from "../../shared/json.js";
import { type PersonalEvent, type PersonalStorage, personalEventOf } from "../personal-data.js";
import type { Counts } from "./counts.js";
import type { Database, Scope } from "./database.js";
import type { createQueues } from "./queues.js";
import { CLAIMED } from "./ranks.js";
import { DEAD, type EventRow, eventOf, marks, QUEUED, SCHEDULED, seqsOf } from "./rows.js";
import type { Ends } from "./settle.js";

const AT_ONCE = 500;

/** Events with their numbers. */
type Page = readonly { readonly seq: number; readonly event: PersonalEvent }[];

/** @param page gives events with higher numbers; none if there is no more. */
export async function* pagesOf(
  page: (after: number) => Promise<Page>,
): AsyncGenerator<readonly PersonalEvent[]> {
  for (let rows = await page(0); rows.length > 0; rows = await page(rows.at(-1)?.seq as number))
    yield rows.map(({ event }) => event);
}

/** @param isHeld SQL: whether the process that has claimed `q` may still send it. */
export function createPersonal(
  database: Database,
  isHeld: () => string,
  options: { counts: Counts; scope: Scope; ends: Ends; queues: ReturnType<typeof createQueues> },
): PersonalStorage & { page(after: number): Promise<Page> } {
  const { counts, scope, ends, queues } = options;
  const { events, queues: table } = database.words;
  const isUnderWay = () => `exists (select 1 from ${table} q
    where q.visitor = e.visitor and q.head = e.seq and q.turn = ${CLAIMED} and ${isHeld()})`;

  /** A page, in the order of their numbers, which stay the same. */
  async function page(after: number): Promise<Page> {
    const rows = await database.rows<EventRow & { under_way: number }>(
      `select case when ${isUnderWay()} then 1 else 0 end as under_way, e.*
       from ${events} e where e.seq > ? and e.state <= ${DEAD} and ${scope.condition} order by e.seq limit ${AT_ONCE}`,
      [after],
    );
    return rows.map((row) => {
      const state = row.state === DEAD ? "dead" : row.under_way === 1 ? "under-way" : "waiting";
      // Data that cannot be read names no person: no search finds it.
      return { seq: row.seq, event: personalEventOf(eventOf(row, objectFromJson(row.data) ?? {}), state) };
    });
  }

  return {
    page,
    pages: () => pagesOf(page),
    async remove(found) {
      const destinations = [...new Set(found.map(({ destination }) => destination))];
      const isFound = `destination in (${marks(destinations)}) and id in (${marks(found)}) and state <= ${DEAD}`;
      const values = [...destinations, ...found.map(({ id }) => id)];
      const removed = await database.transaction(async (tx) => {
        const unqueued = `select seq from ${events} where ${isFound} and state <> ${QUEUED}`;
        // Waits until events that are getting places have them.
        await queues.lockEvents(tx, seqsOf(await tx.rows(unqueued, values)));
        const rows = await tx.rows(`select visitor from ${events} where ${isFound}`, values);
        const locked = await queues.lock(tx, rows);
        // It says nothing about its endpoint: see unanswered.ts.
        const reason = `case state when ${SCHEDULED} then 'cancelled' else 'erased' end`;
        const erased = `select seq, id from ${events} e where ${isFound} and not ${isUnderWay()}`;
        const number = await ends.forget(tx, await tx.rows(erased, values), reason);
        await queues.refresh(tx, locked);
        return number;
      });
      await counts.take();
      return removed;
    },
  };
}
