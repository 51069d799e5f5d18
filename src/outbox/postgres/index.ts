/**
 * The outbox of a fleet: in the host's own PostgreSQL database, shared by any number of machines.
 *
 * @module express-affiliate/postgres
 */
export type { Outbox } from "../outbox.js";
export type { PostgresClient, PostgresPool } from "./database.js";
export { type PostgresOutbox, type PostgresOutboxOptions, postgresOutbox } from "./postgres-outbox.js";
export { postgresMigrations } from "./sql.js";
export type { PostgresTransaction } from "./transaction.js";
