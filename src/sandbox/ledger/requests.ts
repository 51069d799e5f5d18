import type { RecordedRequest } from "./entries.js";
import type { Database } from "./sqlite.js";

const KEPT = 5000;

/** The last requests to the tracking endpoints, for people to read. */
export function requestsTable(database: Database) {
  const all = database.prepare("select * from requests order by id");
  const count = database.prepare("select count(*) as count from requests");
  const latest = database.prepare("select * from requests order by id desc limit ?");
  const byId = database.prepare("select * from requests where id = ?");
  const ofClick = database.prepare("select min(id) as id from requests where recordedClick = ?");
  const ofLead = database.prepare("select min(id) as id from requests where recordedLead = ?");
  const insert = database.prepare(
    `insert into requests (at, method, path, headers, body, status, response, ms, fault, replayed,
                           idempotencyKey, recordedClick, recordedLead)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const forget = database.prepare("delete from requests where id <= ?");

  return {
    all: () => all.all().map(toRequest),
    count: () => (count.get() as { count: number }).count,
    latest: (count = KEPT) => latest.all(count).map(toRequest),
    ofNumber(id: number): RecordedRequest | undefined {
      const row = byId.get(id);
      return row === undefined ? undefined : toRequest(row);
    },
    /** The first request that reported it, by its id; null where it is kept no more. */
    thatReported({ kind, id }: { kind: "click" | "registration" | "payment"; id: number }): number | null {
      const row = (kind === "click" ? ofClick : ofLead).get(id) as { id: number | null };
      return row.id;
    },
    add(request: Omit<RecordedRequest, "kind" | "id">): RecordedRequest {
      const { lastInsertRowid } = insert.run(
        request.at,
        request.method,
        request.path,
        JSON.stringify(request.headers),
        request.body,
        request.status,
        request.response,
        request.ms,
        request.fault,
        Number(request.replayed),
        request.idempotencyKey,
        request.recordedClick,
        request.recordedLead,
      );
      const id = Number(lastInsertRowid);
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
