import { quoted } from "../../outbox/postgres/migrations.js";
import { postgresOutbox } from "../../outbox/postgres/postgres-outbox.js";
import { problemOf } from "../../outbox/postgres/problems.js";
import type { OpenOutbox } from "./actions.js";
import { loadDriver, openedIn, TIMEOUT_MS } from "./database.js";

/** Creates no tables. @throws OutboxError without `pg`. */
export function openPostgres(url: string, schema = "affiliate"): OpenOutbox {
  const { Pool } = loadDriver<typeof import("pg")>("pg", "Postgres", "ERR_AFFILIATE_POSTGRES_DRIVER");
  const pool = new Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: "express-affiliate",
  });
  const tables = quoted(schema);
  return openedIn(postgresOutbox({ pool, schema, migrate: false }), {
    pool,
    deleteNothing: () => pool.query(`delete from ${tables}.events where false`),
    async last(limit) {
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
      return rows;
    },
    async otherConnections() {
      const { rows } = await pool.query(
        `select count(*)::integer as number from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
      );
      return rows[0].number;
    },
    problemOf: (error) => problemOf(error, schema),
  });
}

function msOf(time: string): string {
  return `round(extract(epoch from ${time}) * 1000)::float8`;
}
