import { quoted } from "../../outbox/postgres/migrations.js";
import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import { problemOf } from "../../outbox/postgres/problems.js";
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
  const outbox = postgresOutbox({ pool, schema, migrate: false });
  return openedIn(outbox, pool, {
    async checkWrites() {
      const name = schema ?? "affiliate";
      try {
        // A statement that is not allowed is refused even if it applies to no row.
        await pool.query(`delete from ${quoted(name)}.events where false`);
      } catch (error) {
        throw problemOf(error, name);
      }
    },
    async otherConnections() {
      const { rows } = await pool.query(
        `select count(*)::integer as number from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      );
      return rows[0].number;
    },
  });
}
