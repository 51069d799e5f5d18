import * as z from "zod/mini";
import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { type SqlOutboxOptions, sqlOptions } from "../queue/options.js";
import { createQueueOutbox, type SqlOutbox } from "../queue/queue-outbox.js";
import { ignore, openDatabase, type PostgresPool } from "./database.js";
import { SCHEMA_NAME } from "./sql.js";

/** What `postgresOutbox()` takes. */
export interface PostgresOutboxOptions extends SqlOutboxOptions {
  /** A pool of the package `pg`, or one like it. Never closed here: end it after the tracker. */
  readonly pool: PostgresPool;
  /** The tables' schema: a letter, then up to 39 letters, digits and `_`. Default `affiliate`. */
  readonly schema?: string | undefined;
}

const isPool = (value: unknown) =>
  ["connect", "on", "removeListener"].every((name) => typeof Object(value)[name] === "function");

const settings = z.strictObject({
  ...sqlOptions,
  pool: z.custom<PostgresPool>(isPool, { error: "must be a pool, such as new Pool() of pg" }),
  schema: z._default(
    z
      .string({ error: "must be a schema's name" })
      .check(z.regex(SCHEMA_NAME.pattern, { error: SCHEMA_NAME.error })),
    "affiliate",
  ),
} satisfies SchemaOf<PostgresOutboxOptions>);

/** An outbox in a PostgreSQL database. */
export interface PostgresOutbox extends SqlOutbox {}

/**
 * Keeps events in the host's own PostgreSQL database: they survive the loss of a machine, any
 * number of machines share them, and a report can be part of the host's own transaction
 * (`trackPayment(…, { transaction: client })`): made if and only if the order commits. What is
 * `queued` is committed. While the server is away, what is reported waits in memory.
 *
 * @example
 * ```js
 * import { postgresOutbox } from "express-affiliate/postgres";
 * import pg from "pg";
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * const outbox = postgresOutbox({ pool }); // for `affiliate({ …, outbox })`
 * ```
 * @throws OptionsError
 */
export function postgresOutbox(options: PostgresOutboxOptions): PostgresOutbox;
/** @internal */
export function postgresOutbox(options: PostgresOutboxOptions, clock?: Clock): PostgresOutbox;
export function postgresOutbox(given: PostgresOutboxOptions, clock: Clock = systemClock): PostgresOutbox {
  const options = readOptions("postgresOutbox", settings, given);
  const { pool } = options;
  // Without a listener, an idle connection that is lost ends the host's process.
  pool.on("error", ignore);

  return createQueueOutbox("postgres", options, clock, openDatabase(pool, options), () =>
    pool.removeListener("error", ignore),
  );
}
