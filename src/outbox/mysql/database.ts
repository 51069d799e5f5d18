import { sleep } from "../../shared/real-timers.js";
import { inTime, LONGEST_WAIT_MS, repeatWhereLost } from "../queue/connections.js";
import type { Database, Statements } from "../queue/database.js";
import { cautionsOf } from "./cautions.js";
import { migrate } from "./migrations.js";
import type { MysqlConnection, MysqlPool } from "./pool.js";
import { CONNECTION_ENDED, DEADLOCK, errnoOf, LOCK_WAIT_TIMEOUT, problem, problemOf } from "./problems.js";
import { withValues, wordsOf } from "./sql.js";
import { insertWithin } from "./transaction.js";

// Ample for what the outbox sends: see `MOST_BYTES` of enqueue.ts.
const LEAST_PACKET = 1_048_576;
const ATTEMPTS = 6;
const PAUSE_MS = 5;

// SERVER_STATUS_AUTOCOMMIT, of the protocol.
const COMMITS = 2;

/** What a host may have set in a session of its pool. */
interface Session {
  /** A statement is a transaction of its own. The host may change that: each write tells. */
  commits: boolean;
  /** How long a statement waits for another transaction, in seconds. */
  readonly patience: number;
}

type Work<T> = (connection: MysqlConnection, session: Session) => Promise<T>;

export function openDatabase(pool: MysqlPool, options: { prefix: string; migrate: boolean }): Database {
  const { prefix } = options;
  const sessions = new WeakMap<object, Session>();
  /** Errors of existing connections. If none can be made, the server is away. */
  const lost = new WeakSet<object>();
  const isLost = (error: unknown) => lost.has(Object(error));
  let readiness: Promise<void> | undefined;

  function noteWhereLost(error: unknown): void {
    const said = errnoOf(error);
    if (said === undefined || CONNECTION_ENDED.has(said)) lost.add(Object(error));
  }

  /** Runs work on a lent connection. After an error that leaves its state in doubt, closes it. */
  async function on<T>(work: Work<T>): Promise<T> {
    let isLate = false;
    let destroy = () => {};
    const done = pool.getConnection().then(async (connection) => {
      if (isLate) {
        connection.release();
        throw new Error("the caller was told that it took too long");
      }
      destroy = () => connection.destroy();
      // Each loan wraps the same connection anew.
      const key = Object((connection as { connection?: unknown }).connection ?? connection);
      let session = sessions.get(key);
      try {
        session ??= await sessionOf(connection);
        sessions.set(key, session);
        const result = await work(connection, session);
        connection.release();
        return result;
      } catch (error) {
        noteWhereLost(error);
        if (session?.commits !== false && !isLost(error) && !unrestored.has(Object(error)))
          connection.release();
        else connection.destroy();
        throw error;
      }
    });
    return inTime(done, () => {
      isLate = true;
      destroy();
      return problem("ERR_AFFILIATE_MYSQL_SILENT", `no answer from the server within ${LONGEST_WAIT_MS} ms`);
    });
  }

  /** Once the tables are there, and again after a deadlock. */
  async function prepared<T>(work: Work<T>): Promise<T> {
    await database.ready();
    for (let attempt = 1; ; attempt++) {
      try {
        return await on(work);
      } catch (error) {
        if (errnoOf(error) === DEADLOCK && attempt < ATTEMPTS) {
          await sleep(Math.random() * PAUSE_MS * 2 ** attempt, undefined, { ref: false });
          continue;
        }
        const told = problemOf(error, prefix);
        if (isLost(error)) lost.add(Object(told));
        // Tables that have vanished are made again, if that is allowed.
        if ((told as { code?: string }).code === "ERR_AFFILIATE_MYSQL_TABLES") readiness = undefined;
        throw told;
      }
    }
  }

  const inTransaction =
    <T>(work: (tx: Statements) => Promise<T>): Work<T> =>
    async (connection, session) => {
      // Each statement has to see what was committed before it began.
      await connection.query({ sql: "set transaction isolation level read committed" });
      await connection.query({ sql: "start transaction" });
      try {
        const result = await work(statementsOn(connection, session));
        await connection.query({ sql: "commit" });
        return result;
      } catch (error) {
        noteWhereLost(error);
        if (!isLost(error)) await restore(connection, "rollback");
        throw error;
      }
    };

  // Not after a transaction: if that second commit failed, what is done already would be done again.
  const committed =
    <T>(work: Work<T>): Work<T> =>
    async (connection, session) => {
      const result = await work(connection, session);
      if (!session.commits) await connection.query({ sql: "commit" });
      return result;
    };

  const database: Database = {
    words: wordsOf(prefix),
    rows: (text, values) => repeatWhereLost(() => database.rowsOnce(text, values), isLost),
    rowsOnce: (text, values) => prepared(committed((...lent) => statementsOn(...lent).rows(text, values))),
    write: (text, values) =>
      repeatWhereLost(
        () => prepared(committed((...lent) => statementsOn(...lent).write(text, values))),
        isLost,
      ),
    transaction: (work, { isPatient } = { isPatient: true }) =>
      prepared(isPatient ? inTransaction(work) : withLittlePatience(inTransaction(work))),
    insertWithin: (transaction, row) => insertWithin(transaction, row, database),
    ready() {
      readiness ??= repeatWhereLost(
        () =>
          on(
            committed((...lent) => migrate(statementsOn(...lent).rows, { prefix, allowed: options.migrate })),
          ),
        isLost,
      ).catch((error) => {
        readiness = undefined;
        throw problemOf(error, prefix);
      });
      return readiness;
    },
    isLost,
    isBusy: (error) => errnoOf(error) === LOCK_WAIT_TIMEOUT,
    cautions: () => cautionsOf(database),
  };
  return database;
}

/** Errors after which a connection is not as the host has lent it. */
const unrestored = new WeakSet<object>();

async function restore(connection: MysqlConnection, sql: string): Promise<void> {
  try {
    await connection.query({ sql });
  } catch (error) {
    unrestored.add(Object(error));
    throw error;
  }
}

function withLittlePatience<T>(work: Work<T>): Work<T> {
  return async (connection, session) => {
    await connection.query({ sql: "set innodb_lock_wait_timeout = 1" });
    try {
      return await work(connection, session);
    } finally {
      await restore(connection, `set innodb_lock_wait_timeout = ${session.patience}`);
    }
  };
}

// A host's pool may return rows as arrays, or values as other types.
const PLAIN = { rowsAsArray: false, nestTables: false, typeCast: true };

function statementsOn(connection: MysqlConnection, session?: Session): Statements {
  const run = async (text: string, values?: Parameters<Statements["rows"]>[1]) =>
    (await connection.query({ sql: withValues(text, values), ...PLAIN }))[0];
  return {
    rows: run,
    async write(text, values) {
      const { affectedRows, serverStatus } = await run(text, values);
      if (session && serverStatus !== undefined) session.commits = (serverStatus & COMMITS) !== 0;
      return affectedRows;
    },
  };
}

async function sessionOf(connection: MysqlConnection): Promise<Session> {
  const [row] = await statementsOn(connection).rows(
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
