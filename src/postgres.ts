/**
 * The outbox of a fleet: in the host's own PostgreSQL database, shared by any number of machines.
 *
 * @module express-affiliate/postgres
 */
export type { PostgresClient, PostgresPool } from "./outbox/postgres/database.js";
export { postgresMigrations } from "./outbox/postgres/migrations.js";
export type { PostgresTransaction } from "./outbox/postgres/transaction.js";
export { type PostgresOutbox, type PostgresOutboxOptions, postgresOutbox } from "./outbox/postgres.js";
