import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import type { OpenOutbox } from "./actions.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";

/**
 * Connects to the outbox in a database. Creates no tables.
 *
 * @throws OutboxError where `pg` is not installed.
 */
export function openPostgres(url: string, schema: string | undefined): OpenOutbox {
  const { Pool } = loadDriver<typeof import("pg")>({
    specifier: "pg",
    package: "pg",
    code: "ERR_AFFILIATE_POSTGRES_DRIVER",
    database: "Postgres",
  });
  const pool = new Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: "express-affiliate",
  });
  return openedIn(postgresOutbox({ pool, schema, migrate: false }), pool);
}
