import { objectFromJson } from "../../shared/json.js";
import { type PersonalEvent, type PersonalStorage, personalEventOf } from "../personal-data.js";
import type { Counts } from "./counts.js";
import type { Database } from "./database.js";
import type { createQueues } from "./queues.js";
import { CLAIMED } from "./ranks.js";
import {
  CANCELLED,
  conditions,
  DEAD,
  DONE,
  EVENT,
  type EventRow,
  eventOf,
  forgotten,
  marks,
  SCHEDULED,
} from "./rows.js";

const AT_ONCE = 500;

export interface PersonalPage {
  readonly found: readonly PersonalEvent[];
  /** After which number the next page begins, if there may be one. */
  readonly next: number | undefined;
}

export async function* pagesOf(
  page: (after: number) => Promise<PersonalPage>,
): AsyncGenerator<readonly PersonalEvent[]> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { found, next }: PersonalPage = await page(after);
    yield found;
    after = next;
  }
}

export function createPersonal(
  database: Database,
  options: { counts: Counts; rememberMs: number; queues: ReturnType<typeof createQueues> },
): PersonalStorage & {
  page(destination: number | undefined, after: number): Promise<PersonalPage>;
} {
  const { counts, rememberMs, queues: visitors } = options;
  const { events, queues, now } = database.words;
  const isUnderWay = `exists (
    select 1 from ${queues} q where q.visitor = e.visitor and q.head = e.seq and q.turn = ${CLAIMED})`;

  /** A page, in the order of their numbers: an event that moves on meanwhile gets a higher one. */
  async function page(destination: number | undefined, after: number): Promise<PersonalPage> {
    await database.ready();
    const { text, values } = conditions({ destination });
    const rows = await database.rows<EventRow & { state: number; under_way: number }>(
      `select ${EVENT}, e.state, case when ${isUnderWay} then 1 else 0 end as under_way
       from ${events} e where e.seq > ? and e.state <= ${DEAD} and ${text} order by e.seq limit ${AT_ONCE}`,
      [after, ...values],
    );
    const found = rows.flatMap((row): PersonalEvent[] => {
      const data = objectFromJson(row.data);
      if (!data) return [];
      const isDead = Number(row.state) === DEAD;
      const state = isDead ? "dead" : Number(row.under_way) === 1 ? "under-way" : "waiting";
      return [personalEventOf(eventOf(row, data), state)];
    });
    return { found, next: rows.length === AT_ONCE ? Number(rows.at(-1)?.seq) : undefined };
  }

  return {
    page,
    pages: (destination) => pagesOf((after) => page(destination, after)),
    async remove(destination, found) {
      const ids = found.map(({ id }) => id);
      const which = `destination = ? and id in (${marks(ids)}) and state <= ${DEAD}`;
      const removed = await counts.during(() =>
        database.transaction(async (tx) => {
          const rows = await tx.rows(`select visitor from ${events} where ${which}`, [destination, ...ids]);
          const locked = await visitors.lock(
            tx,
            rows.map(({ visitor }) => visitor),
          );
          const heads = [...locked.values()].filter(({ turn }) => turn === CLAIMED).map(({ head }) => head);
          const state = `case state when ${SCHEDULED} then ${CANCELLED} else ${DONE} end`;
          const number = await tx.write(
            `update ${events} set ${forgotten(state, now, rememberMs)} where ${which} and seq not in (${marks([0, ...heads])})`,
            [destination, ...ids, 0, ...heads],
          );
          await visitors.refresh(tx, locked);
          return number;
        }),
      );
      await counts.take();
      return removed;
    },
  };
}
