import { KINDS, priorityOf } from "../../conversion/kinds.js";
import { UNTRIED } from "../claim.js";
import type { FoundLetter, LetterStatements, StoredLetter } from "../sql/dead-letters.js";
import type { Database } from "./database.js";
import { LETTER_COLUMNS } from "./rows.js";

const DOUBTFUL = JSON.stringify({ ...UNTRIED, maybeTaken: true });
const COLUMNS = `destination::text, ${LETTER_COLUMNS}, size`;
const IDS = "replace(id::text, '-', '') as id";

export function lettersIn(database: Database): LetterStatements<FoundLetter> {
  const { schema } = database;
  const table = `${schema}.dead_letters`;

  async function revive(
    found: readonly FoundLetter[],
    destination: number,
    areInterrupted = false,
  ): Promise<StoredLetter[]> {
    const ids = found.map(({ id }) => id);
    const values = [destination, ids, KINDS, KINDS.map(priorityOf), DOUBTFUL, areInterrupted];
    return database.queryOnce(`select ${COLUMNS} from ${schema}.revive($1, $2, $3, $4, $5, $6)`, values);
  }

  return {
    hasId: (id) => `id = '${id}'`,
    list: (which, limit) =>
      database.query(`select ${COLUMNS} from ${table} where ${which} order by seq limit $1`, [limit]),
    ids: (which) => database.query(`select ${IDS} from ${table} where ${which} order by seq`),
    sums: (which) =>
      database.query(
        `select kind, reason, count(*)::text as count, coalesce(sum(case
           when kind = 'payment' and json_typeof(data -> 'leadValue') = 'number' then (data ->> 'leadValue')::numeric
         end), 0)::text as amount
         from ${table} where ${which} group by kind, reason`,
      ),
    find: (which) =>
      database.query(
        `select destination::text, ${IDS} from ${table}
         where ${which} and json_typeof(data) = 'object' order by created_at, seq`,
      ),
    revive,
    reviveInterrupted: (found, destination) => revive(found, destination, true),
    remove: (which, limit) =>
      database.queryOnce(
        `with removed as (
           delete from ${table} where ${which} and seq in (
             select seq from ${table} where ${which} order by seq limit $1
           ) returning *
         ), known as (
           update ${schema}.known_ids as known set delivered_at = ${schema}.delivery_time() from removed
           where known.destination = removed.destination and known.id = removed.id
         )
         select ${COLUMNS}, ${schema}.commit_durably() from removed as dead_letters order by seq`,
        [limit ?? null],
      ),
  };
}
