import type { Database, Statements } from "../queue/database.js";
import { openServer } from "../queue/server-database.js";
import { problemsOf } from "./problems.js";
import { DURABLY, migrationTo, numbered, wordsOf } from "./sql.js";
import { insertWithin } from "./transaction.js";

/** The part of a pool that the outbox needs: `Pool` of the package `pg` has it. */
export interface PostgresPool {
  /** Lends one of its connections. */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
  // biome-ignore-start lint/suspicious/noExplicitAny: pg's types need its package, which is optional.
  /** For errors of idle connections: without a listener they would end the process. */
  on(event: "error", listener: (error: Error, ...more: any[]) => void): unknown;
  /** Undoes `on`. */
  removeListener(event: "error", listener: (...more: any[]) => void): unknown;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
}

/** The part of a lent connection that the outbox needs: `PoolClient` of the package `pg` has it. */
export interface PostgresClient {
  // biome-ignore-start lint/suspicious/noExplicitAny: pg's types need its package, which is optional.
  /** Runs one statement, or several without values. */
  query(config: {
    text: string;
    values?: any[];
    types?: any;
  }): Promise<{ rows: any[]; rowCount?: number | null }>;
  /** Its errors are listened to. */
  on(event: string, listener: (...more: any[]) => void): unknown;
  /** Undoes `on`. */
  removeListener(event: string, listener: (...more: any[]) => void): unknown;
  /** Returns it to the pool, or closes it. */
  release(destroy?: boolean): void;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
}

// admin_shutdown, crash_shutdown, idle_session_timeout, idle_in_transaction_session_timeout; the
// class connection_exception.
const CONNECTION_ENDED = /^(57P01|57P02|57P05|25P03|08\w{3}|ECONNRESET|EPIPE)$/;
// What `pg` says of a connection that ended before the answer, or before the request.
const CONNECTION_GONE = /Connection terminated( unexpectedly)?$|not queryable$/;

/** Whether the connection was lost, so that it is unknown how far the request got. */
function hasEnded(error: unknown): boolean {
  const { code = "", message = "" } = Object(error) as { code?: string; message?: string };
  return CONNECTION_ENDED.test(code) || CONNECTION_GONE.test(message);
}

/**
 * Lends one of the pool's connections, with a listener for its errors. A server that stops may send
 * "ready" and an error in one packet: the client then emits the error before a promise resolves, and
 * without a listener it ends the process.
 */
function lend(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (!client) return reject(error);
      client.on("error", ignore);
      resolve(client);
    });
  });
}

export function ignore(): void {}

const STATEMENT_MS = 20_000;
const PATIENCE_MS = 500;
// serialization_failure, deadlock_detected.
const ONCE_MORE = new Set(["40001", "40P01"]);
const LOCK_NOT_AVAILABLE = "55P03";
const codeOf = (error: unknown) => (Object(error) as { code?: string }).code ?? "";

// Without statistics of tables that have just grown, the server would read all of them.
const PLANS = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"].map(
  (plan) => `set local enable_${plan} = off`,
);
// The same, and it would sort all queues that wait, for a claim of a few.
const UNSORTED = "set local enable_bitmapscan = off";
// A host may have set parsers of its own, for all of its process.
const PLAIN = { getTypeParser: () => String };
// If a process's machine is lost, its transaction's locks last no longer than this.
const IDLE = `set local idle_in_transaction_session_timeout = ${STATEMENT_MS}`;
const BEGIN = `begin isolation level read committed; ${IDLE}; ${PLANS.join("; ")}; select ${DURABLY}`;

export function openDatabase(pool: PostgresPool, options: { schema: string; migrate: boolean }): Database {
  const { schema } = options;
  return openServer(
    {
      ...problemsOf(schema),
      words: wordsOf(`"${schema}"`),
      async lend() {
        const client = await lend(pool);
        const run = (...[text, values]: Parameters<Statements["rows"]>) =>
          client.query({ ...numbered(text, values), types: PLAIN });
        return {
          on: {
            // Of several statements, the last.
            rows: async (...asked) => ([await run(...asked)].flat().at(-1) as { rows: never[] }).rows,
            write: async (...asked) => (await run(...asked)).rowCount ?? 0,
          },
          giveBack(isBroken) {
            client.release(isBroken);
            client.removeListener("error", ignore);
          },
        };
      },
      read(on, text, values = []) {
        // With texts, `pg` takes one statement alone. A claim's look has numbers.
        const hasTexts = values.some((value) => typeof value === "string");
        return on.rows(hasTexts ? text : `${UNSORTED}; ${text}`, values);
      },
      async begin(on, isPatient) {
        await on.write(isPatient ? BEGIN : `${BEGIN}; set local lock_timeout = ${PATIENCE_MS}`);
        return () => {};
      },
      versionIn: (on) => versionIn(on, schema),
      async alone(on, work) {
        // Once it has the lock, it has to see what another process has made.
        await on.write("begin isolation level read committed");
        await on.rows(
          `select pg_advisory_xact_lock(hashtextextended('express-affiliate migrations ${schema}', 0))`,
        );
        await work();
        await on.write("commit");
      },
      statementsTo: (version) => migrationTo(version, schema),
      insertWithin: (transaction, row, ready) => insertWithin(transaction, row, { schema, ready }),
      cautionsOf,
      hasEnded,
      isDeadlock: (error) => ONCE_MORE.has(codeOf(error)),
      isBusy: (error) => codeOf(error) === LOCK_NOT_AVAILABLE,
    },
    options,
  );
}

// Asks the catalogue: there a missing or forbidden table is no error.
async function versionIn({ rows }: Statements, schema: string): Promise<number> {
  const found = await rows(
    `select 1 as one from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = '${schema}' and c.relname = 'migrations'`,
  );
  if (found.length === 0) return 0;
  const [row] = await rows(`select max(version) as version from "${schema}".migrations`);
  return row.version ?? 0;
}

/** Warns if a setting may lose the host's own transaction, with its report, after its commit. */
async function cautionsOf({ rows }: Statements): Promise<string[]> {
  const [row] = await rows("select current_setting('synchronous_commit') as setting");
  // All others write a commit to the server's disk before the answer.
  if (row.setting !== "off") return [];
  return [
    `postgresOutbox: synchronous_commit is off: if the server crashes, your own transaction may be lost with its report, although its commit was answered. The outbox's own transactions are safe. If you pass transactions to reports, set it to on there (docs/transactions.md, "How durable it is")`,
  ];
}
