import { sleep } from "../../shared/real-timers.js";
import { inTime, LONGEST_WAIT_MS } from "../sql/in-time.js";
import { repeatWhereLost } from "../sql/lost-connection.js";
import { migrate } from "./migrations.js";
import { problem, problemOf } from "./problems.js";

/** The part of a pool that the outbox needs: `Pool` of `mysql2/promise` has it. */
export interface MysqlPool {
  /** Lends one of its connections. */
  getConnection(): Promise<MysqlConnection>;
}

/** The part of a lent connection that the outbox needs: `PoolConnection` of `mysql2/promise` has it. */
export interface MysqlConnection {
  // biome-ignore-start lint/suspicious/noExplicitAny: mysql2's own types, seen from where they are not installed.
  /** Runs one statement. Resolves to its rows, or to an object that says how many were affected, with their columns. */
  query(options: { sql: string; rowsAsArray?: boolean; typeCast?: any }): Promise<[any, any]>;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
  /** Returns it to the pool. */
  release(): void;
  /** Closes it. */
  destroy(): void;
}

export interface Database {
  /**
   * Runs one statement that reads, in a transaction of its own; again on another connection where its connection was lost.
   * Rejects when it takes too long: the server may not answer at all.
   */
  rows<Row>(text: string): Promise<Row[]>;
  /**
   * Runs one statement that writes, in a transaction of its own, as `rows` does: twice must be as good as once. Resolves to the
   * number of rows that it applied to the last time.
   */
  write(text: string): Promise<number>;
  /**
   * Runs statements that write, all of them or none. Fails with `LOCK_WAIT_TIMEOUT` where one would have to wait for another
   * transaction for more than a second.
   */
  writeUnlessLocked(texts: readonly string[]): Promise<void>;
  /** Runs statements in one transaction, on one connection: all of them, or none. It is not repeated where the connection is lost. */
  transact<T>(work: Statements<T>): Promise<T>;
  /** The same. Fails with `LOCK_WAIT_TIMEOUT` as `writeUnlessLocked` does. */
  transactUnlessLocked<T>(work: Statements<T>): Promise<T>;
  /** Resolves once the tables are right. Tries anew at each call until they are. */
  ready(): Promise<void>;
  /** Whether an error says that the connection was lost: how far the request got is unknown then. */
  isLost(error: unknown): boolean;
}

type Statements<T> = (connection: Pick<Database, "rows" | "write">) => Promise<T>;

/** ER_LOCK_DEADLOCK. A node of a Galera cluster says so too, if another node's transaction came first. */
export const DEADLOCK = 1213;
/** ER_LOCK_WAIT_TIMEOUT. */
export const LOCK_WAIT_TIMEOUT = 1205;
/** ER_DUP_ENTRY. */
export const DUPLICATE = 1062;

// ER_SERVER_SHUTDOWN; ER_CONNECTION_KILLED of MariaDB; ER_SESSION_WAS_KILLED and ER_CLIENT_INTERACTION_TIMEOUT of MySQL.
const CONNECTION_ENDED = new Set([1053, 1927, 3169, 4031]);

// Ample for what the outbox sends: see `insertsOf`.
const LEAST_PACKET = 1_048_576;
const ATTEMPTS = 6;
const PAUSE_MS = 5;

/** Settings that a host may have made in a session of its pool. */
interface Session {
  /** Whether a statement is a transaction of its own. */
  readonly commits: boolean;
  /** How long a statement waits for the end of another transaction, in seconds. */
  readonly patience: number;
}

interface Lent {
  readonly connection: MysqlConnection;
  readonly session: Session;
}

type Work<T> = (connection: MysqlConnection, session: Session) => Promise<T>;

export function openDatabase(pool: MysqlPool, options: { prefix: string; migrate: boolean }): Database {
  const sessions = new WeakMap<object, Session>();
  /** Errors of existing connections. If none can be made, the server is away. */
  const lost = new WeakSet<object>();
  const isLost = (error: unknown) => lost.has(Object(error));
  let readiness: Promise<void> | undefined;

  async function lend(): Promise<Lent> {
    const connection = await pool.getConnection();
    // Each loan has a new wrapper around the same connection.
    const key = Object((connection as { connection?: unknown }).connection ?? connection);
    try {
      const session = sessions.get(key) ?? (await sessionOf(connection));
      sessions.set(key, session);
      return { connection, session };
    } catch (error) {
      noteWhereLost(error);
      connection.destroy();
      throw error;
    }
  }

  function noteWhereLost(error: unknown): void {
    const said = errnoOf(error);
    if (said === undefined || CONNECTION_ENDED.has(said)) lost.add(Object(error));
  }

  /** Runs work on a lent connection, and returns it; after an error that leaves its state in doubt, closes it. */
  async function on<T>(work: Work<T>, inTransaction = false): Promise<T> {
    let isLate = false;
    let destroy = () => {};
    const done = lend().then(async ({ connection, session }) => {
      const { commits } = session;
      if (isLate) {
        connection.release();
        throw new Error("the caller was told that it took too long");
      }
      destroy = () => connection.destroy();
      try {
        if (inTransaction) await connection.query({ sql: "start transaction" });
        const result = await work(connection, session);
        if (inTransaction || !commits) await connection.query({ sql: "commit" });
        connection.release();
        return result;
      } catch (error) {
        noteWhereLost(error);
        if (inTransaction || !commits || isLost(error)) connection.destroy();
        else connection.release();
        throw error;
      }
    });
    return inTime(done, () => {
      isLate = true;
      destroy();
      return problem("ERR_AFFILIATE_MYSQL_SILENT", `no answer from the server within ${LONGEST_WAIT_MS} ms`);
    });
  }

  async function again<T>(work: Work<T>, inTransaction = false): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await on(work, inTransaction);
      } catch (error) {
        if (errnoOf(error) !== DEADLOCK || attempt === ATTEMPTS) throw error;
        await sleep(Math.random() * PAUSE_MS * 2 ** attempt, undefined, { ref: false });
      }
    }
  }

  /** Runs work once the tables are there. Tables that have vanished are made again, where that is allowed. */
  async function prepared<T>(work: Work<T>, inTransaction = false): Promise<T> {
    await database.ready();
    try {
      return await again(work, inTransaction);
    } catch (error) {
      const told = problemOf(error, options.prefix);
      if ((told as { code?: string }).code === "ERR_AFFILIATE_MYSQL_TABLES") readiness = undefined;
      throw told;
    }
  }

  const repeated = <T>(work: Work<T>) => repeatWhereLost(() => prepared(work), isLost);

  const database: Database = {
    isLost,
    rows: (text) => repeated((connection) => rowsOn(connection, text)),
    write: (text) => repeated((connection) => writeOn(connection, text)),
    async writeUnlessLocked(texts) {
      const writeAll: Statements<void> = async ({ write }) => {
        for (const text of texts) await write(text);
      };
      await prepared(unlessLocked(writeAll), texts.length > 1);
    },
    transact: (work) => prepared((connection) => work(statementsOn(connection)), true),
    transactUnlessLocked: (work) => prepared(unlessLocked(work), true),
    ready() {
      const { prefix, migrate: allowed } = options;
      readiness ??= repeatWhereLost(
        () => on((connection) => migrate((text) => rowsOn(connection, text), { prefix, allowed })),
        isLost,
      ).catch((error) => {
        readiness = undefined;
        throw problemOf(error, options.prefix);
      });
      return readiness;
    },
  };
  return database;
}

function unlessLocked<T>(work: Statements<T>): Work<T> {
  return async (connection, { patience }) => {
    await writeOn(connection, "set innodb_lock_wait_timeout = 1");
    try {
      return await work(statementsOn(connection));
    } finally {
      await writeOn(connection, `set innodb_lock_wait_timeout = ${patience}`);
    }
  };
}

function statementsOn(connection: MysqlConnection): Pick<Database, "rows" | "write"> {
  return { rows: (text) => rowsOn(connection, text), write: (text) => writeOn(connection, text) };
}

async function sessionOf(connection: MysqlConnection): Promise<Session> {
  const [row] = await rowsOn(
    connection,
    "select @@autocommit as autocommit, @@innodb_lock_wait_timeout as patience, @@max_allowed_packet as packet",
  );
  if (Number(row.packet) < LEAST_PACKET) {
    throw problem(
      "ERR_AFFILIATE_MYSQL_PACKET",
      `max_allowed_packet is ${row.packet}, and the outbox needs at least ${LEAST_PACKET}: set it for the server (set global max_allowed_packet = 16777216, and in its configuration)`,
    );
  }
  return { commits: Number(row.autocommit) === 1, patience: Number(row.patience) };
}

// The host's pool may be set to return rows as arrays, or values as other types.
const PLAIN = { rowsAsArray: false, nestTables: false, typeCast: true };

// biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
async function rowsOn(connection: MysqlConnection, sql: string): Promise<any[]> {
  return (await connection.query({ sql, ...PLAIN }))[0];
}

async function writeOn(connection: MysqlConnection, sql: string): Promise<number> {
  return (await connection.query({ sql, ...PLAIN }))[0].affectedRows;
}

interface Wrapped extends Error {
  readonly errno?: unknown;
  /** Where Sequelize has the server's error. */
  readonly parent?: unknown;
}

/** The server's error number, however deep in errors of a library; `undefined` where the server said nothing. */
export function errnoOf(error: unknown): number | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < 5; depth++) {
    const { errno, cause, parent }: Wrapped = each;
    if (typeof errno === "number" && errno > 0) return errno;
    each = cause ?? parent;
  }
  return undefined;
}
