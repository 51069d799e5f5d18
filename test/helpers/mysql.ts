import {
  type MysqlConnection,
  type MysqlOutbox,
  type MysqlOutboxOptions,
  type MysqlPool,
  mysqlOutbox,
} from "express-affiliate/mysql";
import mysql from "mysql2/promise";
import { afterAll, beforeAll, describe, onTestFinished, TestRunner } from "vitest";
import { openDatabase } from "../../src/outbox/mysql/database.js";
import { NOW } from "../../src/outbox/mysql/sql.js";
import type { Clock } from "../../src/shared/clock.js";
import { type Address, createDatabase, type MariaDb, programOfMariaDb, startMariaDb } from "./mariadb.js";
import { isLeftOut } from "./scale.js";
import { onShared } from "./shared-server.js";
import { QUEUED, type Settling, type SqlDatabase, trackRequests, upkeepOf } from "./sql-database.js";

export interface Database<Server extends Address = Address>
  extends SqlDatabase<mysql.Pool, MysqlOutbox, Partial<MysqlOutboxOptions>> {
  readonly server: Server;
  /** A pool that ends with the tests. */
  pool(config?: mysql.PoolOptions): mysql.Pool;
  /** What the names of the newest outbox's tables begin with: `$prefix` in a statement for `sql`. */
  prefix: string;
}

/**
 * Tests that need a MariaDB database: one of their own, on a server that all test files share.
 * Skipped if there is no server on this machine, but under CI, where a test that is not run counts
 * as one that fails.
 */
export function describeWithMariaDb(name: string, tests: (database: Database) => void): void {
  // It goes with the server.
  describeWith<Address>(name, tests, { start: () => onShared("mariadb", createDatabase) });
}

/**
 * Tests that need a MariaDB server of their own: one that they end, suspend or set up in another
 * way, or of which they read what it does for all.
 */
export function describeWithMariaDbServer(
  name: string,
  tests: (database: Database<MariaDb>) => void,
  settings: Record<string, string | number> = {},
): void {
  describeWith<MariaDb>(name, tests, {
    start: () => startMariaDb({ "innodb-flush-log-at-trx-commit": 2, "max-connections": 200, ...settings }),
    end: (server) => server.destroy(),
  });
}

function describeWith<Server extends Address>(
  name: string,
  tests: (database: Database<Server>) => void,
  { start, end }: { start(): Promise<Server>; end?(server: Server): Promise<void> },
): void {
  describe.skipIf(isLeftOut(name, "MariaDB", programOfMariaDb() !== undefined, false))(name, () => {
    const pools: mysql.Pool[] = [];
    let shared: mysql.Pool;
    let prefixes = 0;

    const database: Database<Server> = {
      server: undefined as never,
      get own() {
        const { server } = database;
        return "halt" in server ? (server as Address as MariaDb) : undefined;
      },
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
        const outbox = mysqlOutbox({ pool: shared, prefix: database.prefix, pollMs: 100, ...options }, clock);
        if (TestRunner.getCurrentTest()) onTestFinished(() => outbox.close());
        if (options.migrate !== false) await outbox.look();
        return outbox;
      },
      async sql(text, values) {
        const named = text.replaceAll("$queued", QUEUED).replaceAll(/\$(t\.|prefix)/g, database.prefix);
        const [rows] = await shared.query(named, values);
        return rows as never;
      },
      async begin(isolation = "repeatable read", pool = shared) {
        const connection = await pool.getConnection();
        connection.on("error", ignore);
        await connection.query(`set transaction isolation level ${isolation}`);
        await connection.beginTransaction();
        return {
          transaction: connection,
          run: async (text) => (await connection.query(text))[0] as never,
          async end(how) {
            await connection[how]();
            // A test may have set another.
            await connection.query("set innodb_lock_wait_timeout = default");
            connection.removeListener("error", ignore);
            connection.release();
          },
        };
      },
      eventsTable: () => `${database.prefix}events`,
      get lockQueue() {
        return `select 1 from ${database.prefix}queues force index (primary)`;
      },
      claimAll: (until) =>
        database.sql("update $t.queues set turn = 101, claimed_by = 'another', due_at = ?", [until]),
      virtualPool: (clock) => virtualPool(database.pool(), clock) as never,
      upkeep: (pool = shared, clock) =>
        upkeepOf(openDatabase(pool, { prefix: database.prefix, migrate: false }), clock),
    };

    beforeAll(async () => {
      Object.assign(database, { server: await start() });
      shared = database.pool({ connectionLimit: 20 });
    });
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end().catch(() => {})));
      if (database.server) await end?.(database.server);
    });
    tests(database);
  });
}

function ignore(): void {}

/**
 * A pool through which the server knows the time by a test's clock, as of the moment at which a
 * statement is sent.
 */
export function virtualPool(
  pool: Pick<mysql.Pool, "getConnection">,
  clock: Pick<Clock, "now">,
): MysqlPool & Settling {
  const { track, settled } = trackRequests(clock);
  return {
    settled,
    ...around({ getConnection: () => track(() => pool.getConnection()) }, (run, sql) =>
      track(() => run(sql.replaceAll(NOW, String(Math.round(clock.now()))))),
    ),
  };
}

type Answer = Awaited<ReturnType<MysqlConnection["query"]>>;

/** A pool whose statements are run by `query`, with `run`. */
export function around(
  pool: Pick<mysql.Pool, "getConnection">,
  query: (
    run: (sql?: string) => Promise<Answer>,
    sql: string,
    connection: mysql.PoolConnection,
  ) => Promise<Answer>,
): MysqlPool {
  return {
    async getConnection() {
      const connection = await pool.getConnection();
      return {
        connection: connection.connection,
        query: (options) =>
          query(
            (sql = options.sql) =>
              connection.query({ ...options, sql }) as Promise<unknown> as Promise<Answer>,
            options.sql,
            connection,
          ),
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      } as MysqlConnection;
    },
  };
}
