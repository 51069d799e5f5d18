import type { Database, Statements } from "../queue/database.js";
import { openServer } from "../queue/server-database.js";
import { migrationTo } from "./migrations.js";
import { hasEnded, ignore, lend, type PostgresPool } from "./pool.js";
import { problemsOf } from "./problems.js";
import { DURABLY, numbered, wordsOf } from "./sql.js";
import { insertWithin } from "./transaction.js";

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
          client.query({ ...numbered(text, values), query_timeout: STATEMENT_MS, types: PLAIN });
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
