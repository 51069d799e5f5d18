import type { PoolOptions } from "mysql2/promise";
import { mysqlOutbox } from "../../outbox/mysql/mysql-outbox.js";
import { problem, problemOf } from "../../outbox/mysql/problems.js";
import type { OpenOutbox } from "./actions.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";
import type { LastEvent } from "./last-events.js";

/** Creates no tables. @throws OutboxError without `mysql2`, or without a database's name. */
export function openMysql(url: string, prefix = "affiliate_"): OpenOutbox {
  const { createPool } = loadDriver<typeof import("mysql2/promise")>(
    "mysql2/promise",
    "MySQL",
    "ERR_AFFILIATE_MYSQL_DRIVER",
  );
  const pool = createPool({ ...connectionOf(url), connectionLimit: 1, connectTimeout: TIMEOUT_MS });
  return openedIn(mysqlOutbox({ pool, prefix, migrate: false }), {
    pool,
    deleteNothing: () => pool.query(`delete from \`${prefix}events\` where false`),
    async last(limit) {
      const [rows] = await pool.query(
        `select lower(hex(id)) as id, kind, if(state in ('queued', 'scheduled'), created_at, due_at) as at, due_at as until, reason,
           case state when 'dead' then 'dead' when 'known' then 'known' else
             if(claimed_by is not null, 'under-way', if(due_at is null, 'behind', 'waiting')) end as state
         from \`${prefix}events\` order by seq desc limit ?`,
        [limit],
      );
      return (rows as LastEvent[]).map(withNumbers);
    },
    async otherConnections() {
      const [rows] = await pool.query(
        "select count(*) as number from information_schema.processlist where db = database() and id <> connection_id()",
      );
      return Number((rows as { number: number }[])[0]?.number);
    },
    problemOf: (error) => problemOf(error, prefix),
  });
}

/** The driver may return a bigint as text. */
function withNumbers(event: LastEvent): LastEvent {
  return { ...event, at: Number(event.at), until: event.until === null ? null : Number(event.until) };
}

/**
 * Not read by the driver: it prints what it does not understand, which may be a password's part.
 */
function connectionOf(url: string): PoolOptions {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const database = decodeURIComponent(pathname.slice(1));
  if (database === "") {
    throw problem(
      "ERR_AFFILIATE_MYSQL_TABLES",
      "the URL names no database: write it as mysql://user@host/database",
    );
  }
  if ([...searchParams.keys()].some((name) => name !== "ssl")) {
    throw new Error(
      "of the URL's query, ssl is understood, and nothing else; a user and a password go before the host",
    );
  }
  const ssl = searchParams.get("ssl");
  return {
    // An IPv6 address is in brackets.
    host: hostname.replace(/^\[|\]$/g, ""),
    ...(port !== "" && { port: Number(port) }),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database,
    ...(ssl !== null && ssl !== "false" && { ssl: {} }),
  };
}
