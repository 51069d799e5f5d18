import type { PoolOptions } from "mysql2/promise";
import { mysqlOutbox } from "../../outbox/mysql/mysql-outbox.js";
import { problem } from "../../outbox/mysql/problems.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";

/** Creates no tables. @throws OutboxError without `mysql2`, or without a database's name. */
export function openMysql(url: string, prefix = "affiliate_") {
  const { createPool } = loadDriver<typeof import("mysql2/promise")>(
    "mysql2/promise",
    "MySQL",
    "ERR_AFFILIATE_MYSQL_DRIVER",
  );
  const pool = createPool({ ...connectionOf(url), connectionLimit: 1, connectTimeout: TIMEOUT_MS });
  return openedIn(mysqlOutbox({ pool, prefix, migrate: false }), {
    pool,
    async otherConnections() {
      const [rows] = await pool.query(
        "select count(*) as number from information_schema.processlist where db = database() and id <> connection_id()",
      );
      return Number((rows as { number: number }[])[0]?.number);
    },
  });
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
