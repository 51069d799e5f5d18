/**
 * The outbox of a fleet: in the host's own MySQL or MariaDB, shared by any number of machines.
 *
 * @module express-affiliate/mysql
 */
export type { Outbox } from "../outbox.js";
export type { MysqlConnection, MysqlPool } from "./database.js";
export { type MysqlOutbox, type MysqlOutboxOptions, mysqlOutbox } from "./mysql-outbox.js";
export { mysqlMigrations } from "./sql.js";
export type { MysqlTransaction } from "./transaction.js";
