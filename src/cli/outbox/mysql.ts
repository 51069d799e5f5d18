import type { PoolOptions } from "mysql2/promise";
import { mysqlOutbox } from "../../outbox/mysql/mysql-outbox.js";
import { problem, problemOf } from "../../outbox/mysql/problems.js";
import type { OpenOutbox } from "./actions.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";
import { type LastEvent, newest } from "./last-events.js";

/**
 * Connects to the outbox in a database. Creates no tables.
 *
 * @throws OutboxError where `mysql2` is not installed, or the URL names no database.
 */
export function openMysql(url: string, prefix: string | undefined): OpenOutbox {
  const { createPool } = loadDriver<typeof import("mysql2/promise")>({
    specifier: "mysql2/promise",
    package: "mysql2",
    code: "ERR_AFFILIATE_MYSQL_DRIVER",
    database: "MySQL",
  });
  const pool = createPool({ ...connectionOf(url), connectionLimit: 1, connectTimeout: TIMEOUT_MS });
  const outbox = mysqlOutbox({ pool, prefix, migrate: false });
  return openedIn(outbox, pool, {
    async checkWrites() {
      const begin = prefix ?? "affiliate_";
      try {
        // A statement that is not allowed is refused even if it applies to no row.
        await pool.query(`delete from \`${begin}events\` where false`);
      } catch (error) {
        throw problemOf(error, begin);
      }
    },
    async last(limit) {
      const begin = prefix ?? "affiliate_";
      try {
        const [rows] = await pool.query(
          `select lower(hex(id)) as id, kind, if(state in ('queued', 'scheduled'), created_at, due_at) as at, due_at as until, reason,
             case state when 'dead' then 'dead' when 'known' then 'known' else
               if(claimed_by is not null, 'under-way', if(due_at is null, 'behind', 'waiting')) end as state
           from \`${begin}events\` order by seq desc limit ?`,
          [limit],
        );
        return newest((rows as LastEvent[]).map(withNumbers), limit);
      } catch (error) {
        throw problemOf(error, begin);
      }
    },
    async otherConnections() {
      const [rows] = await pool.query(
        "select count(*) as number from information_schema.processlist where db = database() and id <> connection_id()",
      );
      return Number((rows as { number: number }[])[0]?.number);
    },
  });
}

/** The driver may return a bigint column as a text. */
function withNumbers(event: LastEvent): LastEvent {
  return { ...event, at: Number(event.at), until: event.until === null ? null : Number(event.until) };
}

/** The parts of the URL. The driver does not read them, because it prints what it does not understand, which may be a part of the password. */
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
