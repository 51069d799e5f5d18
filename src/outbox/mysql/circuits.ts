import { type Circuits, circuitsFrom, textOf } from "../circuits.js";
import type { Database } from "./database.js";
import { ascii, NOW } from "./literals.js";

export function createCircuits(database: Database): Circuits {
  const table = `\`${database.prefix}circuits\``;
  const change = async (text: string) => (await database.write(text)) > 0;

  return {
    read: async (destination) =>
      circuitsFrom(
        await database.rows(
          `select ${NOW} as now, endpoint, circuit
           from (select 1) as always left join ${table} on destination = ${destination}`,
        ),
      ),
    async replace({ destination, endpoint, known, next }) {
      const where = `where destination = ${destination} and endpoint = '${endpoint}'`;
      const circuit = ascii(next && textOf(next));
      if (!known) {
        const values = `values (${destination}, '${endpoint}', ${circuit})`;
        return change(`insert ignore into ${table} (destination, endpoint, circuit) ${values}`);
      }
      const same = `${where} and circuit = ${ascii(textOf(known))}`;
      return change(
        next ? `update ${table} set circuit = ${circuit} ${same}` : `delete from ${table} ${same}`,
      );
    },
  };
}
