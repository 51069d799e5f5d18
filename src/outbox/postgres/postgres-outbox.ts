import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { createQueueOutbox, type SqlOutbox } from "../queue/queue-outbox.js";
import { openDatabase } from "./database.js";
import { listen } from "./listen.js";
import { type PostgresOutboxOptions, postgresOptions } from "./options.js";
import { ignore } from "./pool.js";

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
  const options = readOptions("postgresOutbox", postgresOptions, given);
  const { pool, schema } = options;
  const channel = `express_affiliate_${schema}`;
  const listens = options.listen && pool.options?.max !== 1;
  // Without a listener, an idle connection that is lost ends the host's process.
  pool.on("error", ignore);

  return createQueueOutbox("postgres", options, clock, openDatabase(pool, options), {
    ...(listens && {
      listen: (onHint) => listen(pool, { channel, onHint, clock }),
      tell: () => pool.query({ text: "select pg_notify($1, '')", values: [channel] }),
    }),
    close: () => pool.removeListener("error", ignore),
  });
}
