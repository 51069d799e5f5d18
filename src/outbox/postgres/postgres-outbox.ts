import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { again } from "../sql/again.js";
import { createSqlOutbox, type SqlDialect, type SqlOutbox, type SqlShell } from "../sql/sql-outbox.js";
import { createAttempt, createStoredBy } from "./append.js";
import { cautionsOf } from "./cautions.js";
import { createCircuits } from "./circuits.js";
import { createClaims, type PostgresClaim } from "./claims.js";
import { count } from "./count.js";
import { ignore, isLost, openDatabase } from "./database.js";
import { createDeadLetters } from "./dead-letters.js";
import { createHold } from "./hold.js";
import { listen } from "./listen.js";
import { quoted } from "./migrations.js";
import { type PostgresOutboxOptions, postgresOptions } from "./options.js";
import { createPersonal } from "./personal.js";
import { createScheduled } from "./scheduled.js";
import { createShedding } from "./shedding.js";
import { enqueue } from "./transaction.js";
import { forgetOld } from "./upkeep.js";

/** An outbox in a PostgreSQL database. */
export interface PostgresOutbox extends SqlOutbox {}

/**
 * Keeps events in the host's own PostgreSQL database: they survive the loss of a machine, any number of machines share
 * them, and a report can be part of the host's own transaction (`trackPayment(…, { transaction: client })`): made if and
 * only if the order commits. What is `queued` is committed. While the server is away, what is reported waits in memory.
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
  const read = readOptions("postgresOutbox", postgresOptions, given);
  const { pool, leaseMs, rememberMs, maxEvents, maxMemoryBytes, pollMs } = read;
  const schema = quoted(read.schema);
  const channel = `express_affiliate_${read.schema}`;
  const listens = read.listen && pool.options?.max !== 1;
  const database = openDatabase(pool, { schema: read.schema, migrate: read.migrate });

  function dialectOf({ counts, onDeath, wake }: SqlShell): SqlDialect<PostgresClaim> {
    const claims = createClaims(database, { schema, leaseMs, pollMs, counts, onDeath, clock });
    const attempt = createAttempt(database, { schema, onStored: claims.include });
    const shedding = createShedding(database, schema);
    const { deadLetters, evictOldest, reviveInterrupted } = createDeadLetters(database, {
      schema,
      counts,
      onRevived: wake,
    });

    const scheduled = createScheduled(database, { schema, counts });
    return {
      release: (destination) => claims.during(() => scheduled.release(destination)),
      cancel: scheduled.cancel,
      personal: createPersonal(database, { schema, counts }),
      attempt: (events) => claims.during(() => attempt(events)),
      storedBy: createStoredBy(database, schema),
      isLost,
      enqueue: (transaction, event) =>
        enqueue(transaction, event, {
          schema: read.schema,
          quotedSchema: schema,
          channel: listens ? channel : null,
          prepare: database.ready,
        }),
      claim: claims.claim,
      settle: claims.settle,
      renew: claims.renew,
      shedFor: shedding.oldest,
      shedClicks: shedding.clicks,
      deadLetters,
      evictOldest,
      reviveInterrupted,
      circuits: createCircuits(database, { schema }),
      hold: createHold(database, schema),
      cautions: () => cautionsOf(database),
      upkeep: () => forgetOld(database, schema, rememberMs),
      watch(look) {
        const stops: (() => unknown)[] = [again(clock, () => pollMs, look)];
        const onHint = (dueAt?: number) => {
          if (dueAt !== undefined) claims.hear(dueAt);
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

  return createSqlOutbox(
    {
      name: "postgres",
      pollMs,
      leaseMs,
      maxEvents,
      maxDeadLetters: read.maxDeadLetters,
      maxDeadLetterBytes: read.maxDeadLetterBytes,
      maxMemoryBytes,
      clock,
      count: () => count(database, schema),
    },
    dialectOf,
  );
}
