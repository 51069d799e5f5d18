import { type EndpointName, endpointNames, endpoints } from "../endpoints.js";
import type { FaultMode } from "../faults.js";
import { type Database, inserter } from "./file.js";

/** A fault from begin to end, and what it cost. */
interface FaultPeriod {
  readonly id: number;
  readonly mode: FaultMode;
  /** ISO 8601 in UTC. */
  readonly since: string;
  /** When it was over; null: it is in force. */
  readonly until: string | null;
  /** The requests that met it. Those whose connection was refused (`down`) are not known. */
  readonly requests: number;
  /** What they reported. One Idempotency-Key is one report. */
  readonly reports: { readonly [endpoint in EndpointName]?: number };
  /** How many reports were recorded, by the request that met the fault or by a later one. */
  readonly recorded: number;
}

export function faultsTable(database: Database) {
  const insert = inserter(database, "faults");
  const end = database.prepare("update faults set until = ? where until is null");
  const latest = database.prepare("select * from faults order by id desc limit ?");
  const reports = database.prepare(
    `select path, count(*) as requests,
            max(recordedClick is not null or recordedLead is not null or exists (
              select 1 from requests as later
              where later.idempotencyKey = met.idempotencyKey and later.path = met.path and later.status < 300
            )) as recorded
     from requests as met
     where fault = ? and at between ? and ?
     group by path, coalesce(idempotencyKey, id)`,
  );

  function costsOf({ mode, since, until }: FaultPeriod) {
    const rows = reports.all(mode, since, until ?? "9999") as {
      path: string;
      requests: number;
      recorded: number;
    }[];
    const counts: { [endpoint in EndpointName]?: number } = {};
    let recorded = 0;
    for (const row of rows) {
      const endpoint = endpointNames.find((name) => endpoints[name].path === row.path);
      if (endpoint === undefined) continue;
      counts[endpoint] = (counts[endpoint] ?? 0) + 1;
      recorded += row.recorded;
    }
    return { requests: rows.reduce((sum, row) => sum + row.requests, 0), reports: counts, recorded };
  }

  // Left open by a process that was killed: nothing is known after its last request.
  database.exec(
    "update faults set until = coalesce((select max(at) from requests where at > since), since) where until is null",
  );

  return {
    /** Ends the fault in force, and begins this one unless it is `ok`. */
    change(mode: FaultMode, at: string): void {
      end.run(at);
      if (mode !== "ok") insert({ mode, since: at });
    },
    /** The last so many, the last first. */
    latest: (count: number) =>
      (latest.all(count) as FaultPeriod[]).map((period) => ({ ...period, ...costsOf(period) })),
  };
}
