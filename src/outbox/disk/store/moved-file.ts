import { CLAIMED } from "../../queue/ranks.js";
import { DEAD, marks, QUEUED, SCHEDULED } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";
import type { Database as Connection, Value } from "../file/sqlite.js";

const AT_ONCE = 200;

// What changes when an event leaves its queue.
const ENDS = [
  ...["state", "at_ms", "visitor", "alias", "alias_2", "data", "size", "amount"],
  ...["history", "interrupted", "reason", "death"],
];
// The file that is there may be an older copy, in which the event still waits.
const OR_END = `on conflict (destination, id) do update set ${ENDS.map((name) => `${name} = excluded.${name}`).join(", ")}
  where excluded.state >= ${DEAD} and events.state < excluded.state`;

const OR_LONGER = "on conflict (visitor) do update set place = max(excluded.place, queues.place)";

type Row = Record<string, Value>;

/**
 * Copies a lost file into the file that is now at its path, in one pass. An event in both stays as
 * the new file has it, unless it left its queue in the lost file: it was sent, or must not be.
 * Events keep their order, and come after those that are there.
 */
export async function copyInto(database: SqliteDatabase, lost: Connection): Promise<void> {
  const [{ seq, place } = { seq: 0, place: 0 }] = await database.rows<{ seq: number; place: number }>(
    `select (select coalesce(max(seq), 0) from events) as seq,
       (select coalesce(max(place), 0) from queues) as place`,
  );
  const shifts: Record<string, number> = { seq, head: seq, place };

  async function copy(table: string, key: string, first: Value, orElse: string): Promise<void> {
    const page = lost.prepare(`select * from ${table} where ${key} > ? order by ${key} limit ${AT_ONCE}`);
    for (let rows: Row[] = page.all(first); rows.length > 0; rows = page.all(rows.at(-1)?.[key] as Value)) {
      for (const row of rows) {
        const names = Object.keys(row);
        await database.write(
          `insert into ${table} (${names.join(", ")}) values (${marks(names)}) ${orElse}`,
          names.map((name) => (shifts[name] ? Number(row[name]) + shifts[name] : (row[name] as Value))),
        );
      }
    }
  }

  await copy("events", "seq", 0, OR_END);
  await copy("queues", "visitor", "", OR_LONGER);
  // Events of both files may be in one queue.
  await database.write("update queues set has_more = 1");
  // Its visitor has another queue here: no claim says that the attempt is under way.
  const underWay = lost.prepare(
    `select e.destination, e.id from queues q join events e on e.seq = q.head
     where q.turn = ${CLAIMED} or e.interrupted = 1`,
  );
  for (const { destination, id } of underWay.all() as Row[]) {
    await database.write(
      `update events set state = ${QUEUED}, interrupted = 1
       where destination = ? and id = ? and state in (${QUEUED}, ${SCHEDULED}) and not exists (
         select 1 from queues where visitor = events.visitor and head = events.seq and turn = ${CLAIMED})`,
      [destination as Value, id as Value],
    );
  }
}
