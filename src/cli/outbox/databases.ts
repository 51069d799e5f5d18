import { createRequire } from "node:module";
import { mysqlOutbox } from "../../outbox/mysql/mysql-outbox.js";
import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import type { SqlOutbox } from "../../outbox/queue/queue-outbox.js";
import { OutboxError } from "../../shared/errors.js";
import { peerPlaces, resolvePeer } from "../../shared/peer.js";

/** How long the command waits for a server. */
const TIMEOUT_MS = 20_000;

/** Creates no tables. @throws OutboxError without `pg`. */
export function openPostgres(url: string, schema = "affiliate") {
  const { Pool } = loadDriver<typeof import("pg")>("pg", "Postgres", "ERR_AFFILIATE_POSTGRES_DRIVER");
  const pool = new Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: "express-affiliate",
  });
  return openedIn(postgresOutbox({ pool, schema, migrate: false }), pool);
}

/** Creates no tables. @throws OutboxError without `mysql2`. */
export function openMysql(url: string, prefix = "affiliate_") {
  type Driver = typeof import("mysql2/promise");
  const { createPool } = loadDriver<Driver>("mysql2/promise", "MySQL", "ERR_AFFILIATE_MYSQL_DRIVER");
  const { hostname, searchParams } = new URL(url);
  // The driver prints what it does not understand, which may be a password's part.
  if ([...searchParams.keys()].some((name) => name !== "ssl"))
    throw new Error(
      "of the URL's query, ssl is understood, and nothing else; a user and a password go before the host",
    );
  const tls = (searchParams.get("ssl") ?? "false") !== "false" && { ssl: {} };
  // The driver's 3.9 would look for a name in brackets.
  const ipv6 = hostname.startsWith("[") && { host: hostname.slice(1, -1) };
  const pool = createPool({ uri: url, ...ipv6, ...tls, connectionLimit: 1, connectTimeout: TIMEOUT_MS });
  return openedIn(mysqlOutbox({ pool, prefix, migrate: false }), pool);
}

/** A driver that is installed for the host. @throws OutboxError if it is not. */
function loadDriver<Driver>(specifier: string, database: string, code: OutboxError["code"]): Driver {
  const file = resolvePeer(specifier, peerPlaces());
  if (file !== undefined) return createRequire(file)(file);
  const [name] = specifier.split("/");
  throw new OutboxError(
    code,
    `outbox: a ${database} URL needs the package ${name}, which is not installed here: npm install ${name}`,
  );
}

/** Closing it ends the pool that was made for it. */
function openedIn(outbox: SqlOutbox, pool: { end(): Promise<void> }) {
  return {
    ...outbox,
    async close() {
      await outbox.close();
      await pool.end();
    },
  };
}
