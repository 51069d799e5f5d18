import { quoted } from "../../outbox/postgres/migrations.js";
import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import { problemOf } from "../../outbox/postgres/problems.js";
import type { OpenOutbox } from "./actions.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";
import { newest } from "./last-events.js";

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
    async last(limit) {
      const name = schema ?? "affiliate";
      const tables = quoted(name);
      try {
        const { rows } = await pool.query(
          `select replace(id::text, '-', '') as id, kind, state, ${msOf("at")} as at, ${msOf("until")} as until, reason
           from (
             (select id, kind, created_at as at, due_at as until, null as reason,
                case when claimed_until is not null then 'under-way' when due_at is null then 'behind' else 'waiting' end as state
              from ${tables}.events order by seq desc limit $1)
             union all (select id, 'payment', created_at, not_before, null, 'waiting' from ${tables}.scheduled
                        order by created_at desc limit $1)
             union all (select id, kind, died_at, null, reason, 'dead' from ${tables}.dead_letters order by died_at desc limit $1)
             union all (select id, kind, delivered_at, null, null, 'known' from ${tables}.known_ids
                        where delivered_at is not null order by delivered_at desc limit $1)
           ) last`,
          [limit],
        );
        return newest(rows, limit);
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

function msOf(time: string): string {
  return `round(extract(epoch from ${time}) * 1000)::float8`;
}
