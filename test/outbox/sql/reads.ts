import type mysql from "mysql2/promise";
import type pg from "pg";
import { around } from "../../helpers/mysql.js";

export const meanOf = (numbers: readonly number[]) =>
  numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

/** How many blocks a statement reads in PostgreSQL, in a transaction that is undone. */
export async function blocksOf(client: pg.ClientBase, text: string, values?: unknown[]): Promise<number> {
  await client.query("begin");
  const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
  await client.query("rollback");
  const plan = rows[0]["QUERY PLAN"][0].Plan;
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

/** A pool of one connection that says how many pages each of these statements reads in MariaDB. */
export function countingPages<Name extends string>(
  pool: mysql.Pool,
  statements: Readonly<Record<Name, RegExp>>,
  onRead: (name: Name, pages: number, sql: string) => void,
) {
  return around(pool, async (run, sql) => {
    const name = (Object.keys(statements) as Name[]).find((each) => statements[each].test(sql));
    if (!name) return run();
    const pagesRead = async () => {
      const [[row]] = await run("show global status like 'innodb_buffer_pool_read_requests'");
      return Number(row.Value);
    };
    const before = await pagesRead();
    const result = await run();
    onRead(name, (await pagesRead()) - before, sql);
    return result;
  });
}
