import type { Click, Lead, RecordedRequest } from "./entries.js";
import { type Database, inserter } from "./sqlite.js";

const KEPT = 5000;

/** The last requests to the tracking endpoints, for people to read. */
export function requestsTable(database: Database) {
  const count = database.prepare("select count(*) as count from requests");
  const latest = database.prepare("select * from requests order by id desc limit ?");
  const byId = database.prepare("select * from requests where id = ?");
  const ofClick = database.prepare("select min(id) as id from requests where recordedClick = ?");
  const ofLead = database.prepare("select min(id) as id from requests where recordedLead = ?");
  const insert = inserter(database, "requests");
  const forget = database.prepare("delete from requests where id <= ?");

  return {
    count: () => (count.get() as { count: number }).count,
    /** The last first. */
    latest: (count = KEPT) => latest.all(count).map(toRequest),
    ofNumber(id: number): RecordedRequest | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : toRequest(row);
    },
    /** The id of the first request that reported it; null if it is no longer kept. */
    thatReported({ kind, id }: Click | Lead): number | null {
      const row = (kind === "click" ? ofClick : ofLead).get(id) as { id: number | null };
      return row.id;
    },
    add(request: Omit<RecordedRequest, "kind" | "id">): RecordedRequest {
      const headers = JSON.stringify(request.headers);
      const id = insert({ ...request, headers, replayed: Number(request.replayed) });
      forget.run(id - KEPT);
      return { kind: "request", id, ...request };
    },
  };
}

function toRequest(row: unknown): RecordedRequest {
  const { headers, replayed, ...rest } = row as Omit<RecordedRequest, "headers" | "replayed"> & {
    headers: string;
    replayed: number;
  };
  return { ...rest, kind: "request", headers: JSON.parse(headers), replayed: replayed === 1 };
}
