import { type Circuits, circuitsFrom, textOf } from "../circuits.js";
import type { Database } from "./database.js";
import { ascii, NOW } from "./literals.js";

export function createCircuits(database: Database, { prefix }: { prefix: string }): Circuits {
  const table = `\`${prefix}circuits\``;

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
      if (!known)
        return database
          .write(
            `insert ignore into ${table} (destination, endpoint, circuit)
             values (${destination}, '${endpoint}', ${ascii(next && textOf(next))})`,
          )
          .then((number) => number > 0);
      const same = `${where} and circuit = ${ascii(textOf(known))}`;
      const number = await database.write(
        next
          ? `update ${table} set circuit = ${ascii(textOf(next))} ${same}`
          : `delete from ${table} ${same}`,
      );
      return number > 0;
    },
  };
}
