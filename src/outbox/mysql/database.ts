import { sleep } from "../../shared/real-timers.js";
import { inTime, LONGEST_WAIT_MS } from "../sql/in-time.js";
import { repeatWhereLost } from "../sql/lost-connection.js";
import { CONNECTION_ENDED, DEADLOCK, errnoOf } from "./errors.js";
import { migrate } from "./migrations.js";
import { problem, problemOf } from "./problems.js";

/** What the outbox needs of a pool, as `mysql2/promise` has it. */
export interface MysqlPool {
  /** Lends one of its connections. */
  getConnection(): Promise<MysqlConnection>;
}

/** What the outbox needs of a lent connection, such as a `PoolConnection` of `mysql2/promise`. */
export interface MysqlConnection {
  // biome-ignore-start lint/suspicious/noExplicitAny: mysql2's own types, seen from where they are not installed.
  /** Runs a statement. Resolves to its rows, or how many were affected, and to their columns. */
  query(options: { sql: string; rowsAsArray?: boolean; typeCast?: any }): Promise<[any, any]>;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
  /** Returns it to the pool. */
  release(): void;
  /** Closes it. */
  destroy(): void;
}

export interface Database {
  /** Of the tables' names. */
  readonly prefix: string;
  /** The table of events, for statements. */
  readonly events: string;
  /** By its primary key. In a small table, a scan would wait for rows of the host's transactions. */
  readonly eventsBySeq: string;
  /** By the index of what is due. */
  readonly eventsByDue: string;
  /**
   * Runs one reading statement in its own transaction; again on another connection if its own was
   * lost. Rejects when it takes too long: the server may not answer at all.
   */
  rows<Row>(text: string): Promise<Row[]>;
  /**
   * Runs one writing statement as `rows` does: twice must be as good as once. Resolves to the
   * number of rows that it applied to the last time.
   */
  write(text: string): Promise<number>;
  /** Runs statements in one transaction, all or none. Not repeated if the connection is lost. */
  transact<T>(work: Statements<T>): Promise<T>;
  /**
   * The same. Fails with `LOCK_WAIT_TIMEOUT` if a statement has to wait for another transaction for
   * more than a second. A single statement needs no transaction around it.
   */
  unlessLocked<T>(work: Statements<T>, options?: { readonly inTransaction: boolean }): Promise<T>;
  /** Resolves once the tables are right. Until then, each call tries anew. */
  ready(): Promise<void>;
  /** Whether the connection was lost: how far the request got is unknown. */
  isLost(error: unknown): boolean;
}

type Statements<T> = (connection: Pick<Database, "rows" | "write">) => Promise<T>;

// Ample for what the outbox sends: see `insertsOf`.
const LEAST_PACKET = 1_048_576;
const ATTEMPTS = 6;
const PAUSE_MS = 5;

/** What a host may have set in a session of its pool. */
interface Session {
  /** A statement is a transaction of its own. */
  readonly commits: boolean;
  /** How long a statement waits for another transaction, in seconds. */
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
    // Each loan wraps the same connection anew.
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

  /** Runs work on a lent connection. After an error that leaves its state in doubt, closes it. */
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

  /** Runs work once the tables are there. Makes vanished ones again, if that is allowed. */
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

  const events = `\`${options.prefix}events\``;
  const database: Database = {
    prefix: options.prefix,
    events,
    eventsBySeq: `${events} force index (primary)`,
    eventsByDue: `${events} force index (\`${options.prefix}events_due\`)`,
    isLost,
    rows: (text) => repeated((connection) => rowsOn(connection, text)),
    write: (text) => repeated((connection) => writeOn(connection, text)),
    transact: (work) => prepared((connection) => work(statementsOn(connection)), true),
    unlessLocked: (work, { inTransaction } = { inTransaction: true }) =>
      prepared(withLittlePatience(work), inTransaction),
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

function withLittlePatience<T>(work: Statements<T>): Work<T> {
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

// A host's pool may return rows as arrays, or values as other types.
const PLAIN = { rowsAsArray: false, nestTables: false, typeCast: true };

// biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
async function rowsOn(connection: MysqlConnection, sql: string): Promise<any[]> {
  return (await connection.query({ sql, ...PLAIN }))[0];
}

async function writeOn(connection: MysqlConnection, sql: string): Promise<number> {
  return (await connection.query({ sql, ...PLAIN }))[0].affectedRows;
}
