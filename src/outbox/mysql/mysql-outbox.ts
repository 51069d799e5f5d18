import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { createQueueOutbox, type SqlOutbox } from "../queue/queue-outbox.js";
import { openDatabase } from "./database.js";
import { type MysqlOutboxOptions, mysqlOptions } from "./options.js";

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
  const options = readOptions("mysqlOutbox", mysqlOptions, given);
  return createQueueOutbox("mysql", options, clock, openDatabase(options.pool, options));
}
