import { objectFromJson } from "../../shared/json.js";
import { type FoundEvent, type PersonalStorage, personalEventOf } from "../personal-data.js";
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

export function createPersonal(
  database: Database,
  options: { counts: Counts; rememberMs: number; queues: ReturnType<typeof createQueues> },
): PersonalStorage {
  const { counts, rememberMs, queues: visitors } = options;
  const { events, queues, now } = database.words;
  const isUnderWay = `exists (
    select 1 from ${queues} q where q.visitor = e.visitor and q.head = e.seq and q.turn = ${CLAIMED})`;

  return {
    /** In the order of their numbers: an event that moves on meanwhile gets a higher one. */
    async *pages(destination) {
      await database.ready();
      const { text, values } = conditions({ destination });
      for (let after = 0, isMore = true; isMore; ) {
        const rows = await database.rows<EventRow & { state: number; under_way: number }>(
          `select ${EVENT}, e.state, case when ${isUnderWay} then 1 else 0 end as under_way
           from ${events} e where e.seq > ? and e.state <= ${DEAD} and ${text} order by e.seq limit ${AT_ONCE}`,
          [after, ...values],
        );
        yield rows.flatMap((row): FoundEvent[] => {
          const data = objectFromJson(row.data);
          if (!data) return [];
          const isDead = Number(row.state) === DEAD;
          const state = isDead ? "dead" : Number(row.under_way) === 1 ? "under-way" : "waiting";
          return [personalEventOf(eventOf(row, data), state)];
        });
        after = Number(rows.at(-1)?.seq);
        isMore = rows.length === AT_ONCE;
      }
    },
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
