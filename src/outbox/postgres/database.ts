import { inTime, LONGEST_WAIT_MS, repeatWhereLost } from "../queue/connections.js";
import type { Database, Statements, Value } from "../queue/database.js";
import { cautionsOf } from "./cautions.js";
import { migrate } from "./migrations.js";
import { ignore, isLost, lend, type PostgresClient, type PostgresPool } from "./pool.js";
import { problem, problemOf } from "./problems.js";
import { DURABLY, numbered, wordsOf } from "./sql.js";
import { insertWithin } from "./transaction.js";

const STATEMENT_MS = 20_000;
const PATIENCE_MS = 500;
const ATTEMPTS = 6;
// serialization_failure, deadlock_detected.
const ONCE_MORE = new Set(["40001", "40P01"]);
const LOCK_NOT_AVAILABLE = "55P03";
const SILENT = "ERR_AFFILIATE_POSTGRES_SILENT";
const codeOf = (error: unknown) => (Object(error) as { code?: string }).code ?? "";

// Without statistics of tables that have just grown, the server would read all of them.
const PLANS = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"].map(
  (plan) => `set local enable_${plan} = off`,
);
// If a process's machine is lost, its transaction's locks last no longer than this.
const IDLE = `set local idle_in_transaction_session_timeout = ${STATEMENT_MS}`;
const BEGIN = `begin isolation level read committed; ${IDLE}; ${PLANS.join("; ")}; select ${DURABLY}`;

export function openDatabase(pool: PostgresPool, options: { schema: string; migrate: boolean }): Database {
  const { schema } = options;
  let readiness: Promise<void> | undefined;

  async function run(runner: Pick<PostgresPool, "query">, given: string, values?: readonly Value[]) {
    try {
      return await inTime(runner.query({ ...numbered(given, values), query_timeout: STATEMENT_MS }), silence);
    } catch (error) {
      const told = problemOf(error, schema);
      // Tables that have vanished are made again, if that is allowed.
      if (codeOf(told) === "ERR_AFFILIATE_POSTGRES_TABLES") readiness = undefined;
      throw told;
    }
  }

  const statementsOn = (runner: Pick<PostgresPool, "query">): Statements => ({
    rows: async (text, values) => (await run(runner, text, values)).rows,
    write: async (text, values) => (await run(runner, text, values)).rowCount ?? 0,
  });

  /** Runs work on a lent connection. */
  async function on<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    let isLate = false;
    const lent = lend(pool, ignore).then((client) => {
      if (isLate) {
        giveBack(client);
        throw silence();
      }
      return client;
    });
    const client = await inTime(lent, () => {
      isLate = true;
      return silence();
    });
    try {
      const result = await work(client);
      giveBack(client);
      return result;
    } catch (error) {
      // What the connection is in the middle of is unknown.
      giveBack(client, true);
      throw problemOf(error, schema);
    }
  }

  async function inTransaction<T>(work: (tx: Statements) => Promise<T>, isPatient: boolean): Promise<T> {
    const outcome = await on(async (client) => {
      await inTime(
        client.query(isPatient ? BEGIN : `${BEGIN}; set local lock_timeout = ${PATIENCE_MS}`),
        silence,
      );
      try {
        const result = await work(statementsOn(client as never));
        await inTime(client.query("commit"), silence);
        return { result };
      } catch (error) {
        if (isLost(error) || codeOf(error) === SILENT) throw error;
        await inTime(client.query("rollback"), silence);
        return { error };
      }
    });
    if ("error" in outcome) throw outcome.error;
    return outcome.result;
  }

  /** Again after a deadlock. */
  async function again<T>(request: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await request();
      } catch (error) {
        if (!ONCE_MORE.has(codeOf(error)) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async function prepared<T>(request: () => Promise<T>): Promise<T> {
    await database.ready();
    return again(request);
  }

  const plain = statementsOn(pool);
  const database: Database = {
    words: wordsOf(`"${schema}"`),
    rows: (text, values) => repeatWhereLost(() => database.rowsOnce(text, values), isLost),
    rowsOnce: (text, values) => prepared(() => plain.rows(text, values)),
    write: (text, values) =>
      repeatWhereLost(() => prepared(() => plain.write(`${text} returning ${DURABLY}`, values)), isLost),
    transaction: (work, { isPatient } = { isPatient: true }) =>
      prepared(() => inTransaction(work, isPatient)),
    insertWithin: (transaction, row) =>
      insertWithin(transaction, row, { schema, ready: () => database.ready() }),
    ready() {
      readiness ??= repeatWhereLost(
        () =>
          on((client) =>
            inTime(
              migrate(client, { schema, allowed: options.migrate }).then(() => checkIsolation(client)),
              silence,
            ),
          ),
        isLost,
      ).catch((error) => {
        readiness = undefined;
        throw error;
      });
      return readiness;
    },
    isLost,
    isBusy: (error) => codeOf(error) === LOCK_NOT_AVAILABLE,
    cautions: () => cautionsOf(database),
  };
  return database;
}

function giveBack(client: PostgresClient, destroy?: boolean): void {
  client.release(destroy);
  client.removeListener("error", ignore);
}

// For statements outside transactions: each has to see what was committed before it began.
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
  return problem(SILENT, `no answer from the server within ${LONGEST_WAIT_MS} ms`);
}
