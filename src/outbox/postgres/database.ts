import { inTime, LONGEST_WAIT_MS } from "../sql/in-time.js";
import { repeatWhereLost } from "../sql/lost-connection.js";
import { migrate, quoted } from "./migrations.js";
import { problem, problemOf } from "./problems.js";

/** The part of a pool that the outbox needs: `Pool` of the package `pg` has it. */
export interface PostgresPool {
  // biome-ignore-start lint/suspicious/noExplicitAny: pg's own types, seen from where they are not installed.
  /** Runs one statement on any of its connections. */
  query(config: { text: string; values?: any[] }): Promise<{ rows: any[] }>;
  /** Lends one of its connections. */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
  /** For errors of idle connections: without a listener they would end the process. */
  on(event: "error", listener: (error: Error, ...more: any[]) => void): unknown;
  /** Undoes `on`. */
  removeListener(event: "error", listener: (...more: any[]) => void): unknown;
  /** How many connections it has at most. Default: more than one. */
  readonly options?: { readonly max?: number | undefined };
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
}

/** The part of a lent connection that the outbox needs: `PoolClient` of the package `pg` has it. */
export interface PostgresClient {
  // biome-ignore-start lint/suspicious/noExplicitAny: pg's own types, seen from where they are not installed.
  /** Runs one statement, or several without values. */
  query(text: string): Promise<{ rows: any[] }>;
  /** `error` and `notification` are listened to. */
  on(event: string, listener: (...more: any[]) => void): unknown;
  /** Undoes `on`. */
  removeListener(event: string, listener: (...more: any[]) => void): unknown;
  /** Returns it to the pool, or closes it. */
  release(destroy?: Error | boolean): void;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
}

export interface Database {
  /** Quoted, for statements. */
  readonly schema: string;
  /**
   * Runs one statement, in its own transaction. If the connection is lost, runs it again on another
   * one: twice must be as good as once. Rejects if the server does not answer in time.
   */
  query<Row>(text: string, values?: unknown[]): Promise<Row[]>;
  /** The same, but not again. */
  queryOnce<Row>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Resolves once the tables are right. Tries anew at each call until they are. */
  ready(): Promise<void>;
}

const STATEMENT_MS = 20_000;
// serialization_failure, deadlock_detected.
const ONCE_MORE = new Set(["40001", "40P01"]);
// admin_shutdown, crash_shutdown, idle_session_timeout; the class connection_exception.
const CONNECTION_ENDED = /^(57P01|57P02|57P05|08\w{3}|ECONNRESET|EPIPE)$/;
// What `pg` says of a connection that ended before the answer, or before the request.
const CONNECTION_GONE = /Connection terminated( unexpectedly)?$|not queryable$/;

export function openDatabase(pool: PostgresPool, options: { schema: string; migrate: boolean }): Database {
  let readiness: Promise<void> | undefined;

  async function prepare(): Promise<void> {
    const client = await lend(pool, ignore);
    try {
      await migrate(client, { schema: options.schema, allowed: options.migrate });
      await checkIsolation(client);
      client.release();
    } catch (error) {
      client.release(true);
      throw problemOf(error, options.schema);
    } finally {
      client.removeListener("error", ignore);
    }
  }

  async function run<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const config = { text, values, query_timeout: STATEMENT_MS };
    try {
      return (await inTime(pool.query(config), silence)).rows;
    } catch (error) {
      if (!ONCE_MORE.has((error as { code?: string }).code ?? "")) throw error;
      return (await inTime(pool.query(config), silence)).rows;
    }
  }

  const database: Database = {
    schema: quoted(options.schema),
    query: (text, values) => repeatWhereLost(() => database.queryOnce(text, values), isLost),
    async queryOnce(text, values = []) {
      await database.ready();
      try {
        return await run(text, values);
      } catch (error) {
        const told = problemOf(error, options.schema);
        // Tables that have vanished are made again, if that is allowed.
        if ((told as { code?: string }).code === "ERR_AFFILIATE_POSTGRES_TABLES") readiness = undefined;
        throw told;
      }
    },
    ready() {
      readiness ??= repeatWhereLost(() => inTime(prepare(), silence), isLost).catch((error) => {
        readiness = undefined;
        throw error;
      });
      return readiness;
    },
  };
  return database;
}

/**
 * Lends one of the pool's connections, with a listener for its errors. A server that stops may send
 * "ready" and an error in one packet: the client then emits the error before a promise resolves, and
 * without a listener it ends the process.
 */
export function lend(pool: PostgresPool, onError: (error: Error) => void): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (!client) return reject(error);
      client.on("error", onError);
      resolve(client);
    });
  });
}

export function ignore(): void {}

/** Whether the connection was lost, so that it is unknown how far the request got. */
export function isLost(error: unknown): boolean {
  const { code = "", message = "" } = Object(error) as { code?: string; message?: string };
  return CONNECTION_ENDED.test(code) || CONNECTION_GONE.test(message);
}

// The outbox's functions need it: each statement has to see what was committed before it began.
async function checkIsolation(client: PostgresClient): Promise<void> {
  const { rows } = await client.query("select current_setting('default_transaction_isolation') as level");
  const level = String(rows[0]?.level);
  if (level === "read committed" || level === "read uncommitted") return;
  throw problem(
    "ERR_AFFILIATE_POSTGRES_ISOLATION",
    `default_transaction_isolation is "${level}", and the outbox needs "read committed": give it a role or a pool of its own that has it (new Pool({ options: "-c default_transaction_isolation=read\\\\ committed" })); your transactions may have any`,
  );
}

function silence(): Error {
  return problem("ERR_AFFILIATE_POSTGRES_SILENT", `no answer from the server within ${LONGEST_WAIT_MS} ms`);
}
