import { postgresMigrations } from "express-affiliate/postgres";
import pg from "pg";
import { startCluster } from "../../../test/helpers/cluster.js";
import { createMonitor, type RealServer, readOnly, SCHEMA, type Session } from "./real-server.js";

// The session's own: a statement that has waited for a lock still has the time at which it came.
const NOW = "public.virtual_now()";
const CREATE_NOW = `
  create or replace function ${NOW} returns timestamptz stable language sql as
  $$ select timestamptz 'epoch' + current_setting('virtual.now')::bigint * interval '1 millisecond' $$`;

/** A PostgreSQL server, on which nothing runs by itself. */
export async function startRealPostgres(): Promise<RealServer> {
  const server = await startCluster({
    fsync: "off",
    autovacuum: "off",
    max_connections: 300,
    deadlock_timeout: "5ms",
    full_page_writes: "off",
  });
  const monitor = createMonitor(open);
  for (const text of [CREATE_NOW, ...postgresMigrations(SCHEMA)]) await monitor(text);

  async function open(): Promise<Session> {
    const { host, port } = server;
    const client = new pg.Client({ host, port, user: "postgres", database: "postgres" });
    let hasEnded = false;
    let told = -1;
    let isInTransaction = false;
    const noteEnd = () => {
      hasEnded = true;
    };
    client.on("error", noteEnd).on("end", noteEnd);
    await client.connect();
    const { rows } = await client.query("select pg_backend_pid() as pid");
    const setReadOnly = readOnly((wanted) =>
      client.query(`set default_transaction_read_only = ${wanted ? "on" : "off"}`),
    );
    const session: Session = {
      number: rows[0].pid,
      get hasEnded() {
        return hasEnded;
      },
      async run({ text, values }, nowMs) {
        // A transaction that failed takes nothing but its end.
        if (told !== nowMs && text !== "rollback") {
          await client.query("select set_config('virtual.now', $1, false)", [String(nowMs)]);
          told = nowMs;
        }
        try {
          const result = await client.query({
            text: text.replaceAll(/\b(now|statement_timestamp|clock_timestamp)\(\)/g, NOW),
            values: values as unknown[],
          });
          if (text.startsWith("begin")) isInTransaction = true;
          if (text === "commit" || text === "rollback") isInTransaction = false;
          // What was set meanwhile is undone.
          if (text.startsWith("rollback")) told = -1;
          return result;
        } catch (error) {
          // What is not the server's word on the statement is the connection's end.
          const { code = "" } = error as { code?: string };
          if (!/^[0-9A-Z]{5}$/.test(code) || code.startsWith("57P0")) hasEnded = true;
          throw error;
        }
      },
      // It is for the next transaction, and one that is undone would undo it.
      setReadOnly: async (wanted) => (isInTransaction ? undefined : setReadOnly(wanted)),
      async reset() {
        // A transaction that failed takes nothing but its end; without one it is a warning.
        await client.query("rollback");
        isInTransaction = false;
        told = -1;
        await session.setReadOnly(false);
      },
      end() {
        hasEnded = true;
        void client.end().catch(() => {});
      },
    };
    return session;
  }

  return {
    kind: "postgres",
    session: open,
    async waiting() {
      // Not by `wait_event`: who has been given a lock says there that it waits until it has a processor.
      const text = "select pid from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0";
      return ((await monitor(text)) as pg.QueryResult).rows.map(({ pid }) => pid);
    },
    async cancel({ number }) {
      await monitor(`select pg_cancel_backend(${number})`);
    },
    async clear() {
      await monitor(`truncate ${SCHEMA}.events, ${SCHEMA}.queues restart identity`);
    },
    destroy: () => server.destroy(),
  };
}
