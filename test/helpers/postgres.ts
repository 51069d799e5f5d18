import {
  type PostgresClient,
  type PostgresOutbox,
  type PostgresOutboxOptions,
  type PostgresPool,
  postgresOutbox,
} from "express-affiliate/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, onTestFinished, TestRunner } from "vitest";
import { openDatabase } from "../../src/outbox/postgres/database.js";
import type { Clock } from "../../src/shared/clock.js";
import { type Address, type Cluster, createDatabase, programsOfPostgres, startCluster } from "./cluster.js";
import { isLeftOut } from "./scale.js";
import { onShared } from "./shared-server.js";
import { QUEUED, type Settling, type SqlDatabase, trackRequests, upkeepOf } from "./sql-database.js";

export interface Database<Server extends Address = Address>
  extends SqlDatabase<pg.Pool, PostgresOutbox, Partial<PostgresOutboxOptions>> {
  readonly cluster: Server;
  /** A pool that ends with the tests. */
  pool(config?: pg.PoolConfig): pg.Pool;
  /** The schema of the newest outbox: `$schema` in a statement for `sql`. */
  schema: string;
}

/** Tests that need a PostgreSQL database. They get theirs as with `describeWithMariaDb`. */
export function describeWithPostgres(name: string, tests: (database: Database) => void): void {
  // It goes with the server.
  describeWith<Address>(name, tests, { start: () => onShared("postgres", createDatabase) });
}

/** Tests that need a PostgreSQL server of their own, as with `describeWithMariaDbServer`. */
export function describeWithPostgresServer(name: string, tests: (database: Database<Cluster>) => void): void {
  describeWith<Cluster>(name, tests, {
    start: () => startCluster({ fsync: "off", max_connections: 200 }),
    end: (cluster) => cluster.destroy(),
  });
}

function describeWith<Server extends Address>(
  name: string,
  tests: (database: Database<Server>) => void,
  { start, end }: { start(): Promise<Server>; end?(server: Server): Promise<void> },
): void {
  const isShared = end === undefined;
  describe.skipIf(isLeftOut(name, "PostgreSQL", programsOfPostgres() !== undefined, isShared))(name, () => {
    const pools: pg.Pool[] = [];
    let shared: pg.Pool;
    let schemas = 0;

    const database: Database<Server> = {
      cluster: undefined as never,
      get own() {
        const { cluster } = database;
        return "halt" in cluster ? (cluster as Address as Cluster) : undefined;
      },
      schema: "",
      pool(config = {}) {
        const { host, port, database: name } = database.cluster;
        const pool = new pg.Pool({ host, port, user: "postgres", database: name, ...config });
        pool.on("error", ignore);
        pools.push(pool);
        return pool;
      },
      create(options, clock) {
        database.schema = `outbox_${++schemas}`;
        return database.reopen(options, clock);
      },
      async reopen(options = {}, clock) {
        const given = { pool: shared, schema: database.schema, pollMs: 20, ...options };
        const outbox = postgresOutbox(given, clock);
        if (TestRunner.getCurrentTest()) onTestFinished(() => outbox.close());
        if (options.migrate !== false) await outbox.look();
        return outbox;
      },
      async sql(text, values) {
        const named = text.replaceAll("$queued", QUEUED).replaceAll(/\$(t|schema)\b/g, database.schema);
        return (await shared.query(named, values)).rows;
      },
      async begin(isolation, pool = shared) {
        const client = await pool.connect();
        client.on("error", ignore);
        await client.query(isolation ? `begin isolation level ${isolation}` : "begin");
        return {
          transaction: client,
          run: async (text) => (await client.query(text)).rows,
          async end(how) {
            await client.query(how);
            client.removeListener("error", ignore);
            client.release();
          },
        };
      },
      eventsTable: () => `${database.schema}.events`,
      get lockQueue() {
        return `select from ${database.schema}.queues`;
      },
      claimAll: (until) =>
        database.sql("update $t.queues set turn = 101, claimed_by = 'another', due_at = $1", [until]),
      virtualPool: (clock) => virtualPool(database.pool(), clock) as never,
      upkeep: (pool = shared, clock) =>
        upkeepOf(openDatabase(pool, { schema: database.schema, migrate: false }), clock),
    };

    beforeAll(async () => {
      Object.assign(database, { cluster: await start() });
      shared = database.pool({ max: 20 });
    });
    afterAll(async () => {
      // Not awaited: if a test has failed that holds a connection, its pool does not end, and the
      // server has to.
      for (const pool of pools) void pool.end().catch(() => {});
      if (database.cluster) await end?.(database.cluster);
    });
    tests(database);
  });
}

function ignore(): void {}

let virtualTimes = 0;

/**
 * A pool through which the server knows the time by a test's clock: each `now()` that is sent, in a
 * statement or in a function's body, becomes a function that reads what the clock said when the
 * statement was sent.
 */
export function virtualPool(pool: pg.Pool, clock: Pick<Clock, "now">): PostgresPool & Settling {
  const name = `public.virtual_time_${++virtualTimes}`;
  let told = 0;
  let telling: Promise<unknown> = pool.query(`
    create sequence ${name};
    create function ${name}_now() returns timestamptz stable language sql
    as 'select to_timestamp(last_value / 1000.0) from ${name}'`);
  const requests = trackRequests(clock);

  const track = <T>(request: () => Promise<T>) =>
    requests.track(async () => {
      if (told !== clock.now()) {
        told = clock.now();
        telling = telling.then(() => pool.query("select setval($1, $2)", [name, clock.now()]));
      }
      await telling;
      return request();
    });

  const connect = () => track(() => pool.connect());
  return {
    settled: requests.settled,
    ...around(Object.assign(Object.create(pool), { connect }), (run, text) =>
      track(() => run(text.replaceAll(/\bnow\(\)/g, `${name}_now()`))),
    ),
  };
}

type Answer = Awaited<ReturnType<PostgresClient["query"]>>;

/** A pool whose statements are run by `query`, with `run`. */
export function around(
  pool: pg.Pool,
  query: (run: (text?: string) => Promise<Answer>, text: string, client: pg.PoolClient) => Promise<Answer>,
): PostgresPool {
  const lent = (client: pg.PoolClient): PostgresClient => ({
    query: (config) => query((text = config.text) => client.query({ ...config, text }), config.text, client),
    on: (event, listener) => client.on(event as "error", listener),
    removeListener: (event, listener) => client.removeListener(event, listener),
    release: (destroy) => client.release(destroy),
  });
  return {
    connect(callback) {
      pool.connect().then(
        (client) => callback(undefined, lent(client)),
        (error) => callback(error, undefined),
      );
    },
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
  };
}
