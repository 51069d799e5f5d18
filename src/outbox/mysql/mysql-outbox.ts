import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { again } from "../sql/again.js";
import { createSqlOutbox, type SqlDialect, type SqlOutbox, type SqlShell } from "../sql/sql-outbox.js";
import { createAttempt, createStoredBy } from "./append.js";
import { cautionsOf } from "./cautions.js";
import { createCircuits } from "./circuits.js";
import { createClaims, type MysqlClaim } from "./claims.js";
import { count } from "./count.js";
import { openDatabase } from "./database.js";
import { createDeadLetters } from "./dead-letters.js";
import { createHold } from "./hold.js";
import { type MysqlOutboxOptions, mysqlOptions } from "./options.js";
import { createPersonal } from "./personal.js";
import { createPoll, type Poll } from "./poll.js";
import { createScheduled } from "./scheduled.js";
import { createSearch } from "./search.js";
import { createServerTime } from "./server-time.js";
import { createSettle } from "./settle.js";
import { createShedding } from "./shedding.js";
import { createSweep } from "./sweep.js";
import { enqueue } from "./transaction.js";
import { forgetOld } from "./upkeep.js";
import { createLending } from "./urgency.js";
import { createVisitorQueue } from "./visitor-queue.js";

/** How often the server's clock is read, in milliseconds. */
const CLOCK_MS = 1_000;

/** An outbox in a MySQL or MariaDB database. */
export interface MysqlOutbox extends SqlOutbox {}

/**
 * Keeps events in the host's own MySQL or MariaDB database: they survive the loss of a machine, any number of machines share
 * them, and a report can be part of the host's own transaction (`trackPayment(…, { transaction: connection })`): made if and
 * only if the order commits. What is `queued` is committed. While the server is away, what is reported waits in memory.
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
  const { pool, prefix, leaseMs, rememberMs, maxEvents, maxMemoryBytes, pollMs } = options;
  const database = openDatabase(pool, { prefix, migrate: options.migrate });
  let poll: Poll | undefined;

  function dialectOf({ counts, onDeath, wake }: SqlShell): SqlDialect<MysqlClaim> {
    const sweep = createSweep(database, { prefix, clock });
    const lending = createLending(database, { prefix, onRested: sweep.include });
    const queue = createVisitorQueue(database, { prefix, lending });
    const onSetRight = () => {
      sweep.includeAll();
      wake();
    };
    const time = createServerTime(database, { prefix, leaseMs, clock, onSetRight });
    const search = createSearch(database, { prefix, queue, time, sweep });
    const claims = createClaims(database, {
      prefix,
      queue,
      search,
      sweep,
      time,
      leaseMs,
      clock,
    });
    const shedding = createShedding(database, {
      prefix,
      queue,
      lending,
      search,
      leaseMs,
      clock,
    });
    const { deadLetters, evictOldest, reviveInterrupted } = createDeadLetters(database, {
      prefix,
      counts,
      onRevived: wake,
    });

    const scheduled = createScheduled(database, { prefix, counts });
    return {
      release: scheduled.release,
      cancel: scheduled.cancel,
      personal: createPersonal(database, { prefix, counts, queue }),
      attempt: createAttempt(database, { prefix, sweep }),
      storedBy: createStoredBy(database, prefix),
      isLost: database.isLost,
      async enqueue(transaction, event) {
        const outcome = await enqueue(transaction, event, { prefix, prepare: database.ready });
        // No notification tells of the commit: polling finds the event.
        poll?.quicken();
        // The transaction does not ask whether there are too many.
        return outcome === "queued" && event.kind === "click" ? "crowded" : outcome;
      },
      async claim(capacity) {
        const claimed = await claims.claim(capacity);
        if (claimed.length > 0) poll?.quicken();
        return claimed;
      },
      settle: createSettle(database, { prefix, queue, claims, sweep, counts, onDeath }),
      renew: claims.renew,
      shedFor: shedding.oldestFor,
      shedClicks: shedding.clicks,
      deadLetters,
      evictOldest,
      reviveInterrupted,
      circuits: createCircuits(database, { prefix }),
      hold: createHold(database, { prefix, queue }),
      cautions: () => cautionsOf(database),
      upkeep: () => forgetOld(database, { prefix, rememberMs }),
      watch(look, destination) {
        const looking = createPoll(clock, pollMs, look);
        poll = looking;
        // A process may die before it unparks the events behind one that it has delivered.
        const stopHealing = again(
          clock,
          () => leaseMs,
          () => queue.heal(destination),
        );
        const lookAtClock = () => time.look(destination);
        // After a failure, the next poll shows it.
        void lookAtClock().catch(() => {});
        const stopLooking = again(clock, () => CLOCK_MS, lookAtClock);
        return () => {
          looking.stop();
          stopHealing();
          stopLooking();
        };
      },
    };
  }

  return createSqlOutbox(
    {
      name: "mysql",
      pollMs,
      leaseMs,
      maxEvents,
      maxDeadLetters: options.maxDeadLetters,
      maxDeadLetterBytes: options.maxDeadLetterBytes,
      maxMemoryBytes,
      clock,
      count: () => count(database, prefix),
    },
    dialectOf,
  );
}
