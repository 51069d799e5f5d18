import type { Value } from "../../queue/database.js";
import { CLAIMED } from "../../queue/ranks.js";
import { DEAD, marks } from "../../queue/rows.js";
import type { SqliteDatabase } from "../file/dialect.js";
import type { Database as Connection } from "../file/sqlite.js";

// So few that no statement has too many values.
const AT_ONCE = 200;

type Row = Record<string, Value>;

/** How many were copied that are not delivered. */
export interface Copied {
  readonly events: number;
  readonly deadLetters: number;
}

/**
 * Copies what is in a file that is no longer at its path into the file that is there now, in a
 * pass. What is known there stays as it is there. Events keep their order, and come after those
 * that are there.
 */
export async function copyInto(database: SqliteDatabase, lost: Connection): Promise<Copied> {
  const [{ highest }] = (await database.rows<{ highest: number | null }>(
    "select max(seq) as highest from events",
  )) as [{ highest: number | null }];
  const offset = highest ?? 0;
  const count = async () => {
    const [row] = await database.rows<{ events: number; letters: number }>(
      `select count(*) filter (where state < ${DEAD}) as events, count(*) filter (where state = ${DEAD}) as letters from events`,
    );
    return row as { events: number; letters: number };
  };
  const before = await count();

  async function copy(table: "events" | "queues", key: string, changed: (row: Row) => Row): Promise<void> {
    const page = lost.prepare(`select * from ${table} where ${key} > ? order by ${key} limit ${AT_ONCE}`);
    let last: Value = key === "seq" ? 0 : "";
    for (let rows: Row[] = page.all(last); rows.length > 0; rows = page.all(last)) {
      last = rows.at(-1)?.[key] as Value;
      const columns = Object.keys(rows[0] as Row);
      await database.write(
        `insert into ${table} (${columns.join(", ")}) values ${marks(rows, `(${marks(columns)})`)} on conflict do nothing`,
        rows.map(changed).flatMap((row) => columns.map((column) => row[column] as Value)),
      );
    }
  }

  const claimed: number[] = [];
  const moved = (row: Row): Row => {
    const head = (row.head as number) + offset;
    if (row.turn === CLAIMED) claimed.push(head);
    return { ...row, head };
  };
  await copy("events", "seq", (row) => ({ ...row, seq: (row.seq as number) + offset }));
  await copy("queues", "visitor", moved);
  // Its visitor has another queue here: no claim says that the attempt is under way.
  for (const head of claimed) {
    await database.write(
      `update events set interrupted = 1
       where seq = ? and not exists (select 1 from queues where visitor = events.visitor and head = events.seq)`,
      [head],
    );
  }
  const after = await count();
  return { events: after.events - before.events, deadLetters: after.letters - before.letters };
}
