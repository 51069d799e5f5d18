import type { OutboxEvent } from "../../conversion/events.js";
import { priorityOf } from "../../conversion/kinds.js";
import { endpointOf } from "../../service/endpoints.js";
import { OutboxError } from "../../shared/errors.js";
import { CLICKS_OF_A_VISITOR } from "../outbox.js";
import { asciiJson } from "../sql/ascii-json.js";
import type { Database } from "./database.js";

/** The host's own open transaction: a client of `pg`, or anything that runs a statement in it. */
export interface PostgresTransaction {
  /** Runs one statement with values for `$1`, `$2`, …. Resolves to its rows, or to `{ rows }`. */
  // biome-ignore lint/suspicious/noExplicitAny: pg's own types, seen from where they are not installed.
  query(text: string, values?: any[]): Promise<any>;
}

/**
 * Stores an event in the host's own transaction, in two statements that cannot fail: after a failed
 * statement, the transaction could not commit. The first asks whether the function is there and may
 * be called. The second calls it; it undoes its own failures. `crowded`: the event is queued, and
 * its visitor has too many clicks.
 */
export async function enqueue(
  transaction: unknown,
  event: OutboxEvent,
  { database, schema, channel }: { database: Database; schema: string; channel: string | null },
): Promise<"queued" | "crowded" | "duplicate"> {
  if (!isTransaction(transaction)) {
    throw refusal("`transaction` must have a method query(text, values), as the clients of pg have");
  }
  if (!(await isThere(transaction, schema))) {
    // The very first report may come before the tables are made.
    await database.ready();
    if (!(await isThere(transaction, schema))) {
      throw refusal(
        `the transaction's role finds no outbox that it may use in the schema "${schema}" of its database`,
      );
    }
  }
  const { id, kind, data, createdAt } = event;
  const { clickId = null, sessionId = null } = data;
  const [row] = await rowsOf<{ outcome: string }>(
    transaction,
    // Texts, each with its type in the statement: libraries convert other values in different ways.
    `select ${database.schema}.enqueue(
       $1::text::bigint, $2::text::uuid, $3::text, $4::text, $5::text, $6::text, $7::text::double precision, $8::text,
       ${priorityOf(kind)}::smallint, ${CLICKS_OF_A_VISITOR}, $9::text
     ) as outcome`,
    [
      String(event.destination),
      id,
      kind,
      endpointOf(event),
      clickId,
      sessionId,
      String(createdAt),
      asciiJson(data),
      channel,
    ],
  );
  const outcome = row?.outcome;
  if (outcome === "queued" || outcome === "crowded" || outcome === "duplicate") return outcome;
  throw refusal(`nothing was stored, and the transaction goes on: ${outcome}`);
}

function isTransaction(value: unknown): value is PostgresTransaction {
  return typeof Object(value).query === "function";
}

async function isThere(transaction: PostgresTransaction, schema: string): Promise<boolean> {
  const rows = await rowsOf(
    transaction,
    `select 1 as found
     from pg_catalog.pg_proc as p join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
     where n.nspname = $1::text and p.proname = 'enqueue'
       and has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute')`,
    [schema],
  );
  return rows.length > 0;
}

async function rowsOf<Row>(
  transaction: PostgresTransaction,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const result = await transaction.query(text, values);
  return Array.isArray(result) ? result : (result?.rows ?? []);
}

function refusal(message: string): OutboxError {
  return new OutboxError("ERR_AFFILIATE_TRANSACTION", `postgresOutbox: ${message}`);
}
