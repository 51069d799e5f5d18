import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";

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
  return openedIn(postgresOutbox({ pool, schema, migrate: false }), {
    pool,
    async otherConnections() {
      const { rows } = await pool.query(
        `select count(*)::integer as number from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      );
      return rows[0].number;
    },
  });
}
