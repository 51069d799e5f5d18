import {
  type MysqlOutbox,
  type MysqlOutboxOptions,
  type MysqlPool,
  mysqlOutbox,
} from "express-affiliate/mysql";
import mysql from "mysql2/promise";
import { afterAll, beforeAll, describe, type SuiteCollector } from "vitest";
import { NOW } from "../../src/outbox/mysql/literals.js";
import type { Clock } from "../../src/shared/clock.js";
import { type MariaDb, programOfMariaDb, startMariaDb } from "./mariadb.js";

const isThere = programOfMariaDb() !== undefined;

export interface Database {
  readonly server: MariaDb;
  /** A pool that ends with the tests. */
  pool(config?: mysql.PoolOptions): mysql.Pool;
  /** What the names of the newest outbox's tables begin with. */
  prefix: string;
  /** A new outbox in tables of its own. */
  create(options?: Partial<MysqlOutboxOptions>, clock?: Clock): Promise<MysqlOutbox>;
  /** One more over the same tables. */
  reopen(options?: Partial<MysqlOutboxOptions>, clock?: Clock): Promise<MysqlOutbox>;
  /** Statements of the test's own; `$prefix` stands for that of the newest outbox. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it.
  sql(text: string, values?: unknown[]): Promise<any[]>;
}

/**
 * Tests that need a MariaDB server: one that is started for them. Skipped where there is none, but under CI, where a test
 * that is not run counts as one that fails.
 */
export function describeWithMariaDb(
  name: string,
  tests: (database: Database) => void,
  settings: Record<string, string | number> = {},
): SuiteCollector {
  if (!isThere && !process.env.CI) {
    console.warn(`skipped, for there is no MariaDB server on this machine: ${name}`);
    return describe.skip(name, () => tests({} as Database));
  }
  return describe(name, () => {
    const pools: mysql.Pool[] = [];
    let shared: mysql.Pool;
    let prefixes = 0;

    const database: Database = {
      server: undefined as never,
      prefix: "",
      pool(config = {}) {
        const pool = mysql.createPool({ ...database.server.connection, ...config });
        pools.push(pool);
        return pool;
      },
      create(options, clock) {
        database.prefix = `outbox${++prefixes}_`;
        return database.reopen(options, clock);
      },
      async reopen(options = {}, clock) {
        const given = { pool: shared, prefix: database.prefix, pollMs: 100, ...options };
        const outbox = mysqlOutbox(given, clock);
        if (options.migrate !== false) await outbox.look();
        return outbox;
      },
      async sql(text, values) {
        const [rows] = await shared.query(text.replaceAll("$prefix", database.prefix), values);
        return rows as never;
      },
    };

    beforeAll(async () => {
      const quick = { "innodb-flush-log-at-trx-commit": 2, "max-connections": 200, ...settings };
      Object.assign(database, { server: await startMariaDb(quick) });
      shared = database.pool({ connectionLimit: 20 });
    });
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end().catch(() => {})));
      await database.server?.destroy();
    });
    tests(database);
  });
}

/** A pool whose server lives in a test's own time. */
export interface VirtualPool extends MysqlPool {
  /** How many requests to the server are under way. */
  readonly pending: number;
  /** Resolves once none is, and nothing that is left to do at this moment makes another. */
  settled(): Promise<void>;
}

/** A pool through which the server knows the time by a test's clock, as of the moment at which a statement is sent. */
export function virtualPool(pool: mysql.Pool, clock: Pick<Clock, "now">): VirtualPool {
  let pending = 0;
  const waiting: (() => void)[] = [];

  async function track<T>(request: () => Promise<T>): Promise<T> {
    pending++;
    try {
      return await request();
    } finally {
      pending--;
      if (pending === 0) for (const resolve of waiting.splice(0)) resolve();
    }
  }

  return {
    get pending() {
      return pending;
    },
    async settled() {
      for (let quietTurns = 0; quietTurns < 3; ) {
        if (pending > 0) await new Promise<void>((resolve) => waiting.push(resolve));
        await new Promise((resolve) => setImmediate(resolve));
        const isBusy = pending > 0 || process.getActiveResourcesInfo().includes("Immediate");
        quietTurns = isBusy ? 0 : quietTurns + 1;
      }
    },
    async getConnection() {
      const connection = await track(() => pool.getConnection());
      return {
        connection: connection.connection,
        query: ({ sql, ...rest }: { sql: string }) =>
          track(() =>
            connection.query({ ...rest, sql: sql.replaceAll(NOW, String(Math.round(clock.now()))) }),
          ) as never,
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      };
    },
  };
}
