import type { CountRow } from "../sql/counts.js";
import type { Database } from "./database.js";

export function count(database: Database): Promise<CountRow[]> {
  const from = (columns: string, where: string, group: string) => `
    select cast(destination as char) as destination, ${columns}
    from ${database.events} where ${where} group by destination, ${group}`;
  return database.rows<CountRow>(
    `${from("cast(kind as char) as name, count(*) as number, min(created_at) as created_at, null as bytes", "state = 'queued'", "kind")}
     union all
     ${from("'scheduled' as name, count(*) as number, min(due_at) as created_at, null as bytes", "state = 'scheduled'", "state")}
     union all
     ${from("cast(reason as char) as name, count(*) as number, null as created_at, sum(size) as bytes", "state = 'dead'", "reason")}`,
  );
}
