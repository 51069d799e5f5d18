import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { again } from "../sql/again.js";
import { createDeadLetters } from "../sql/dead-letters.js";
import type { SqlDialect, SqlShell } from "../sql/dialect.js";
import { createSqlOutbox, type SqlOutbox } from "../sql/sql-outbox.js";
import { createAttempt, createStoredBy } from "./append.js";
import { cautionsOf } from "./cautions.js";
import { createCircuits } from "./circuits.js";
import { createClaims, type PostgresClaim } from "./claims.js";
import { count } from "./count.js";
import { ignore, isLost, openDatabase } from "./database.js";
import { lettersIn } from "./dead-letters.js";
import { createHold } from "./hold.js";
import { listen } from "./listen.js";
import { type PostgresOutboxOptions, postgresOptions } from "./options.js";
import { createPersonal } from "./personal.js";
import { createScheduled } from "./scheduled.js";
import { createShedding } from "./shedding.js";
import { enqueue } from "./transaction.js";
import { forgetOld } from "./upkeep.js";

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
  const { pool, schema, leaseMs, pollMs } = options;
  const channel = `express_affiliate_${schema}`;
  const listens = options.listen && pool.options?.max !== 1;
  const database = openDatabase(pool, options);

  function dialectOf({ counts, onDeath, wake }: SqlShell): SqlDialect<PostgresClaim> {
    const claims = createClaims(database, { leaseMs, pollMs, counts, onDeath, clock });
    const attempt = createAttempt(database, claims.include);
    const shedding = createShedding(database);
    const scheduled = createScheduled(database, counts);
    return {
      ...createDeadLetters(lettersIn(database), { counts, onRevived: wake }),
      count: () => count(database),
      release: (destination) => claims.during(() => scheduled.release(destination)),
      cancel: scheduled.cancel,
      personal: createPersonal(database, counts),
      attempt: (events) => claims.during(() => attempt(events)),
      storedBy: createStoredBy(database),
      isLost,
      enqueue: (transaction, event) =>
        enqueue(transaction, event, { database, schema, channel: listens ? channel : null }),
      claim: claims.claim,
      settle: claims.settle,
      renew: claims.renew,
      shedFor: shedding.oldest,
      shedClicks: shedding.clicks,
      circuits: createCircuits(database),
      holding: createHold(database),
      cautions: () => cautionsOf(database),
      upkeep: () => forgetOld(database, options.rememberMs),
      watch(look) {
        const stops: (() => unknown)[] = [again(clock, pollMs, look)];
        const onHint = (dueAt?: number) => {
          if (dueAt !== undefined) claims.committed(dueAt);
          look();
        };
        if (listens) stops.push(listen(pool, { channel, onHint, clock }));
        return () => Promise.all(stops.map((stop) => stop()));
      },
      close: () => pool.removeListener("error", ignore),
    };
  }

  // Without a listener, an idle connection that is lost ends the host's process.
  pool.on("error", ignore);

  return createSqlOutbox("postgres", options, clock, dialectOf);
}
