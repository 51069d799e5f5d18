import type { CountRow } from "../sql/counts.js";
import type { Database } from "./database.js";
import { inMs } from "./rows.js";

export function count(database: Database): Promise<CountRow[]> {
  const { schema } = database;
  return database.query<CountRow>(`
    select destination::text, counted.name, counted.number::text, created_at, counted.bytes::text
    from (
      select destination, kind as name, count(*) as number, ${inMs("created_at", "min(created_at)")}, null::bigint as bytes
      from ${schema}.events group by destination, kind
      union all
      select destination, 'scheduled', count(*), ${inMs("created_at", "min(not_before)")}, null::bigint
      from ${schema}.scheduled group by destination
      union all
      select destination, reason, count(*), null, sum(size) from ${schema}.dead_letters group by destination, reason
    ) as counted`);
}
