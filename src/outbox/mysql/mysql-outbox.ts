import * as z from "zod/mini";
import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions, type SchemaOf } from "../../shared/read-options.js";
import { type SqlOutboxOptions, sqlOptions } from "../queue/options.js";
import { createQueueOutbox, type SqlOutbox } from "../queue/queue-outbox.js";
import { type MysqlPool, openDatabase } from "./database.js";
import { PREFIX } from "./sql.js";

/** What `mysqlOutbox()` takes. */
export interface MysqlOutboxOptions extends SqlOutboxOptions {
  /** A pool of `mysql2/promise`, or one like it. End it after the tracker. */
  readonly pool: MysqlPool;
  /** Of tables' names: a letter, then letters, digits, `_`; at most 40. Default `affiliate_`. */
  readonly prefix?: string | undefined;
}

// The callback pool of `mysql2` has `getConnection` too, and `promise()`.
const isPool = (value: unknown) =>
  typeof Object(value).getConnection === "function" && typeof Object(value).promise !== "function";

const settings = z.strictObject({
  ...sqlOptions,
  pool: z.custom<MysqlPool>(isPool, { error: "must be a pool, such as createPool() of mysql2/promise" }),
  prefix: z._default(
    z.string({ error: "must be a text" }).check(z.regex(PREFIX.pattern, { error: PREFIX.error })),
    "affiliate_",
  ),
} satisfies SchemaOf<MysqlOutboxOptions>);

/** An outbox in a MySQL or MariaDB database. */
export interface MysqlOutbox extends SqlOutbox {}

/**
 * Keeps events in the host's own MySQL or MariaDB: they survive the loss of a machine, any number
 * of machines share them, and a report can be part of the host's own transaction (`trackPayment(…,
 * { transaction: connection })`), made if and only if it commits. What is `queued` is committed.
 * While the server is away, reports wait in memory.
 *
 * @example
 * ```js
 * import { mysqlOutbox } from "express-affiliate/mysql";
 * import mysql from "mysql2/promise";
 *
 * const pool = mysql.createPool(process.env.DATABASE_URL);
 * const outbox = mysqlOutbox({ pool }); // for `affiliate({ …, outbox })`
 * ```
 * @throws OptionsError
 */
export function mysqlOutbox(options: MysqlOutboxOptions): MysqlOutbox;
/** @internal */
export function mysqlOutbox(options: MysqlOutboxOptions, clock?: Clock): MysqlOutbox;
export function mysqlOutbox(given: MysqlOutboxOptions, clock: Clock = systemClock): MysqlOutbox {
  const options = readOptions("mysqlOutbox", settings, given);
  return createQueueOutbox("mysql", options, clock, openDatabase(options.pool, options));
}
