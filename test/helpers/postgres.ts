import pg from "pg";
import { afterAll, beforeAll, describe, type SuiteCollector } from "vitest";
import { type PostgresOutbox, type PostgresOutboxOptions, postgresOutbox } from "../../src/postgres.js";
import { type Cluster, programsOfPostgres, startCluster } from "./cluster.js";

const isThere = programsOfPostgres() !== undefined;

export interface Database {
  readonly cluster: Cluster;
  /** A pool that ends with the tests. */
  pool(config?: pg.PoolConfig): pg.Pool;
  /** The schema of the newest outbox. */
  schema: string;
  /** A new outbox in a schema of its own. */
  create(options?: Partial<PostgresOutboxOptions>): Promise<PostgresOutbox>;
  /** One more over the same tables. */
  reopen(options?: Partial<PostgresOutboxOptions>): Promise<PostgresOutbox>;
  /** Statements of the test's own; `$schema` stands for the schema of the newest outbox. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
  sql(text: string, values?: unknown[]): Promise<any[]>;
}

/**
 * Tests that need a PostgreSQL server: one that is started for them. Skipped where there is none, but under CI, where a
 * test that nobody runs counts as one that fails.
 */
export function describeWithPostgres(name: string, tests: (database: Database) => void): SuiteCollector {
  if (!isThere && !process.env.CI) {
    console.warn(`skipped, for there is no PostgreSQL server on this machine: ${name}`);
    return describe.skip(name, () => tests({} as Database));
  }
  return describe(name, () => {
    const pools: pg.Pool[] = [];
    let shared: pg.Pool;
    let schemas = 0;

    const database: Database = {
      cluster: undefined as never,
      schema: "",
      pool(config = {}) {
        const { host, port } = database.cluster;
        const pool = new pg.Pool({ host, port, user: "postgres", database: "postgres", ...config });
        pool.on("error", () => {});
        pools.push(pool);
        return pool;
      },
      create(options) {
        database.schema = `outbox_${++schemas}`;
        return database.reopen(options);
      },
      async reopen(options = {}) {
        const outbox = postgresOutbox({ pool: shared, schema: database.schema, pollMs: 20, ...options });
        if (options.migrate !== false) await outbox.look();
        return outbox;
      },
      async sql(text, values) {
        return (await shared.query(text.replaceAll("$schema", database.schema), values)).rows;
      },
    };

    beforeAll(async () => {
      Object.assign(database, { cluster: await startCluster({ fsync: "off", max_connections: 200 }) });
      shared = database.pool({ max: 20 });
    });
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await database.cluster?.destroy();
    });
    tests(database);
  });
}
