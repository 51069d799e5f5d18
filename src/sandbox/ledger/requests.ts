import type { RecordedRequest } from "./entries.js";
import type { Database } from "./sqlite.js";

const KEPT = 5000;

/** The last requests to the tracking endpoints, for people to read. */
export function requestsTable(database: Database) {
  const all = database.prepare("select * from requests order by id");
  const latest = database.prepare("select * from requests order by id desc limit ?");
  const insert = database.prepare(
    `insert into requests (at, method, path, headers, body, status, response, ms, fault, replayed)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const forget = database.prepare("delete from requests where id <= ?");

  return {
    all: () => all.all().map(toRequest),
    latest: (count: number) => latest.all(count).map(toRequest),
    add(request: Omit<RecordedRequest, "kind" | "id">): RecordedRequest {
      const { at, method, path, headers, body, status, response, ms, fault, replayed } = request;
      const { lastInsertRowid } = insert.run(
        at,
        method,
        path,
        JSON.stringify(headers),
        body,
        status,
        response,
        ms,
        fault,
        Number(replayed),
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
