import { type Clock, systemClock } from "../../shared/clock.js";
import { readOptions } from "../../shared/read-options.js";
import { again } from "../sql/again.js";
import { createDeadLetters } from "../sql/dead-letters.js";
import type { SqlDialect, SqlShell } from "../sql/dialect.js";
import type { LeasedClaim } from "../sql/leases.js";
import { createSqlOutbox, type SqlOutbox } from "../sql/sql-outbox.js";
import { createAttempt, createStoredBy } from "./append.js";
import { cautionsOf } from "./cautions.js";
import { createCircuits } from "./circuits.js";
import { createClaims } from "./claims.js";
import { count } from "./count.js";
import { openDatabase } from "./database.js";
import { lettersIn } from "./dead-letters.js";
import { createHold } from "./hold.js";
import { type MysqlOutboxOptions, mysqlOptions } from "./options.js";
import { createPeriods } from "./periods.js";
import { createPersonal } from "./personal.js";
import { createPoll, type Poll } from "./poll.js";
import { createScheduled } from "./scheduled.js";
import { createSearch } from "./search.js";
import { createServerTime } from "./server-time.js";
import { createSettle } from "./settle.js";
import { createShedding } from "./shedding.js";
import { enqueue } from "./transaction.js";
import { forgetOld } from "./upkeep.js";
import { createInheritance } from "./urgency.js";
import { createVisitorQueue } from "./visitor-queue.js";

/** How often the server's clock is read. */
const CLOCK_MS = 1_000;

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
  const { leaseMs, rememberMs, pollMs } = options;
  const database = openDatabase(options.pool, options);
  let poll: Poll | undefined;

  function dialectOf({ counts, onDeath, wake }: SqlShell): SqlDialect<LeasedClaim> {
    const periods = createPeriods(database, clock);
    const inheritance = createInheritance(database, periods.include);
    const queue = createVisitorQueue(database, inheritance);
    const onSetRight = () => {
      periods.includeAll();
      wake();
    };
    const time = createServerTime(database, { leaseMs, clock, onSetRight });
    const search = createSearch(database, { queue, time, periods });
    const claims = createClaims(database, { queue, search, periods, time, leaseMs, clock });
    const shedding = createShedding(database, { queue, inheritance, search, leaseMs, clock });
    const scheduled = createScheduled(database, counts);
    return {
      ...createDeadLetters(lettersIn(database), { counts, onRevived: wake }),
      count: () => count(database),
      release: scheduled.release,
      cancel: scheduled.cancel,
      personal: createPersonal(database, { counts, queue }),
      attempt: createAttempt(database, periods),
      storedBy: createStoredBy(database),
      isLost: database.isLost,
      async enqueue(transaction, event) {
        const outcome = await enqueue(transaction, event, database);
        // Nothing notifies of the commit: the poll finds the event.
        poll?.quicken();
        // The transaction does not ask how many clicks there are.
        return outcome === "queued" && event.kind === "click" ? "crowded" : outcome;
      },
      async claim(capacity) {
        const claimed = await claims.claim(capacity);
        if (claimed.length > 0) poll?.quicken();
        return claimed;
      },
      settle: createSettle(database, { queue, claims, periods, counts, onDeath }),
      renew: claims.renew,
      shedFor: shedding.oldestFor,
      shedClicks: shedding.clicks,
      circuits: createCircuits(database),
      holding: createHold(database, queue),
      cautions: () => cautionsOf(database),
      upkeep: () => forgetOld(database, rememberMs),
      watch(look, destination) {
        const looking = createPoll(clock, pollMs, look);
        poll = looking;
        // A process may die between a delivery and unparking the events behind it.
        const stopHealing = again(clock, leaseMs, () => queue.heal(destination));
        const lookAtClock = () => time.look(destination);
        // If it fails, so does the next poll.
        void lookAtClock().catch(() => {});
        const stopLooking = again(clock, CLOCK_MS, lookAtClock);
        return () => {
          looking.stop();
          stopHealing();
          stopLooking();
        };
      },
    };
  }

  return createSqlOutbox("mysql", options, clock, dialectOf);
}
