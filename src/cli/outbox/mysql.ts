import { createRequire } from "node:module";
import type { PoolOptions } from "mysql2/promise";
import { mysqlOutbox } from "../../outbox/mysql/mysql-outbox.js";
import { problem } from "../../outbox/mysql/problems.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";
import type { OpenOutbox } from "./actions.js";

const TIMEOUT_MS = 20_000;

/**
 * Connects to the outbox in a database. Creates no tables.
 *
 * @throws OutboxError where `mysql2` is not installed, or the URL names no database.
 */
export function openMysql(url: string, prefix: string | undefined): OpenOutbox {
  const { createPool } = loadMysql();
  const pool = createPool({ ...connectionOf(url), connectionLimit: 1, connectTimeout: TIMEOUT_MS });
  const { look, deadLetters, handOver, close } = mysqlOutbox({ pool, prefix, migrate: false });
  return {
    name: "mysql",
    look,
    deadLetters,
    handOver,
    async close() {
      await close();
      await pool.end();
    },
  };
}

/** What the URL says. Not read by the driver, which prints what it does not understand: it may be a part of the password. */
function connectionOf(url: string): PoolOptions {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const database = decodeURIComponent(pathname.slice(1));
  if (database === "") {
    throw problem("TABLES", "the URL names no database: write it as mysql://user@host/database");
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

function loadMysql(): typeof import("mysql2/promise") {
  const file = resolvePeer("mysql2/promise", peerPlaces(import.meta.url));
  if (file === undefined) {
    throw new OutboxError(
      "ERR_AFFILIATE_MYSQL_DRIVER",
      "outbox: a MySQL URL needs the package mysql2, which is not installed here: npm install mysql2",
    );
  }
  return createRequire(file)(file);
}
