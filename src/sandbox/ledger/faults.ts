import { type EndpointName, endpointNames, endpoints } from "../endpoints.js";
import type { FaultMode } from "../faults.js";
import type { Database } from "./sqlite.js";

/** From when to when the service had a fault, and what that cost. */
export interface FaultPeriod {
  readonly id: number;
  readonly mode: FaultMode;
  /** ISO 8601 in UTC. */
  readonly since: string;
  /** When it was over; null: it is in force. */
  readonly until: string | null;
  /** The requests that met it. Those whose connection was refused (`down`) are not known. */
  readonly requests: number;
  /** What those requests reported. Requests with the same Idempotency-Key are one report. */
  readonly reports: { readonly [endpoint in EndpointName]?: number };
  /** How many of those reports were recorded all the same: during the fault, or by a request that came later. */
  readonly recorded: number;
}

/** When the service had which fault. */
export function faultsTable(database: Database) {
  const insert = database.prepare("insert into faults (mode, since) values (?, ?)");
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

  function costs({
    mode,
    since,
    until,
  }: FaultPeriod): Pick<FaultPeriod, "requests" | "reports" | "recorded"> {
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
    /** Ends the fault in force; begins this one, unless it is none. */
    change(mode: FaultMode, at: string): void {
      end.run(at);
      if (mode !== "ok") insert.run(mode, at);
    },
    /** The last so many, the last first. */
    latest: (count: number) =>
      (latest.all(count) as FaultPeriod[]).map((period) => ({ ...period, ...costs(period) })),
  };
}
