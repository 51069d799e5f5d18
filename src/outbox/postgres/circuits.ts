import { type Circuits, circuitsFrom, textOf } from "../circuits.js";
import type { Database } from "./database.js";

export function createCircuits(database: Database): Circuits {
  const { schema } = database;
  const table = `${schema}.circuits`;
  const change = (text: string, values: unknown[]) =>
    database.query(`${text} returning ${schema}.commit_durably()`, values).then(({ length }) => length > 0);

  return {
    async read(destination) {
      const rows = await database.query<{ now: string; endpoint: string | null; circuit: string | null }>(
        `select (extract(epoch from now()) * 1000)::bigint::text as now, endpoint, circuit
         from (select) as always left join ${table} on destination = $1`,
        [destination],
      );
      return circuitsFrom(rows);
    },
    replace({ destination, endpoint, known, next }) {
      const key = [destination, endpoint];
      if (!known)
        return change(
          `insert into ${table} (destination, endpoint, circuit) values ($1, $2, $3) on conflict do nothing`,
          [...key, next && textOf(next)],
        );
      const where = "where destination = $1 and endpoint = $2 and circuit = $3";
      if (!next) return change(`delete from ${table} ${where}`, [...key, textOf(known)]);
      return change(`update ${table} set circuit = $4 ${where}`, [...key, textOf(known), textOf(next)]);
    },
  };
}
