import type { Database, Statements } from "../queue/database.js";
import { openServer } from "../queue/server-database.js";
import { DEADLOCK, errnoOf, hasEnded, LOCK_WAIT_TIMEOUT, NO_SUCH_TABLE, problemsOf } from "./problems.js";
import { migrationTo, withValues, wordsOf } from "./sql.js";
import { insertWithin } from "./transaction.js";

/** What the outbox needs of a pool, as `mysql2/promise` has it. */
export interface MysqlPool {
  /** Lends one of its connections. */
  getConnection(): Promise<MysqlConnection>;
}

/** What the outbox needs of a lent connection, such as a `PoolConnection` of `mysql2/promise`. */
export interface MysqlConnection {
  // biome-ignore-start lint/suspicious/noExplicitAny: mysql2's types need its package, which is optional.
  /** Runs a statement. Resolves to its rows, or how many were affected, and to their columns. */
  query(options: { sql: string; rowsAsArray?: boolean; typeCast?: any }): Promise<[any, any]>;
  // biome-ignore-end lint/suspicious/noExplicitAny: see above.
  /** Returns it to the pool. */
  release(): void;
  /** Closes it. */
  destroy(): void;
}

// Ample for what the outbox sends: see `MOST_BYTES` of enqueue.ts.
const LEAST_PACKET = 1_048_576;
const LOCK_S = 20;
// A host's pool may return rows as arrays, or values as other types.
const PLAIN = { rowsAsArray: false, nestTables: false, typeCast: true };

export function openDatabase(pool: MysqlPool, options: { prefix: string; migrate: boolean }): Database {
  const { prefix } = options;
  const problems = problemsOf(prefix);
  /** The tables' database, before their names: a host may `use` another one on any connection. */
  let home = "";
  const placed = (text: string) => text.replaceAll(`\`${prefix}`, (name) => home + name);

  async function examine({ rows }: Statements): Promise<void> {
    const asked = "@@max_allowed_packet as packet, concat('`', replace(database(), '`', '``'), '`.') as home";
    const [{ packet, home: found }] = await rows(`select ${asked}`);
    // `withValues` would change ' and ?, and a connection's character set other characters.
    if (/^`[ -&(->@-~]+`\.$/.test(found)) home ||= found;
    if (packet >= LEAST_PACKET) return;
    throw problems.problem(
      "ERR_AFFILIATE_MYSQL_PACKET",
      `max_allowed_packet is ${packet}, and the outbox needs at least ${LEAST_PACKET}: set it for the server (set global max_allowed_packet = 16777216, and in its configuration)`,
    );
  }

  return openServer(
    {
      ...problems,
      words: wordsOf(prefix),
      async lend() {
        const connection = await pool.getConnection();
        const run = async (...[text, values]: Parameters<Statements["rows"]>) => {
          const asked = connection.query({ sql: withValues(placed(text), values), ...PLAIN });
          return (await asked.catch(withoutStatement))[0];
        };
        return {
          on: { rows: run, write: async (...asked) => (await run(...asked)).affectedRows },
          giveBack: (isBroken) => (isBroken ? connection.destroy() : connection.release()),
        };
      },
      async read(on, ...select) {
        const rows = await on.rows(...select);
        await endSnapshot(on);
        return rows;
      },
      async begin(on, isPatient) {
        let restore = () => {};
        if (!isPatient) {
          const [{ patience }] = await on.rows("select @@innodb_lock_wait_timeout as patience");
          await on.write("set innodb_lock_wait_timeout = 1");
          restore = () => on.write(`set innodb_lock_wait_timeout = ${patience}`);
        }
        await on.write("set transaction isolation level read committed");
        await on.write("start transaction");
        return restore;
      },
      versionIn: (on) => examine(on).then(() => versionIn(on, prefix)),
      async alone(on, work) {
        const lock = `concat(left(database(), 16), ' ${prefix}')`;
        await on.rows(`select get_lock(${lock}, ${LOCK_S})`);
        await work();
        await on.write("commit");
        await on.rows(`select release_lock(${lock})`);
      },
      statementsTo: (version) => migrationTo(version, prefix),
      insertWithin: (transaction, row, ready) => insertWithin(transaction, row, { placed, ready }),
      cautionsOf,
      hasEnded,
      isDeadlock: (error) => errnoOf(error) === DEADLOCK,
      isBusy: (error) => errnoOf(error) === LOCK_WAIT_TIMEOUT,
    },
    options,
  );
}

/** The text has customers' addresses, and a host may log the error. */
function withoutStatement(error: { sql?: string }): never {
  delete error.sql;
  throw error;
}

/**
 * After a read, if the host has turned `autocommit` off. Not by a commit: the host may have given the
 * connection back in the middle of a transaction.
 */
const endSnapshot = ({ write }: Statements) => write("rollback");

async function versionIn(on: Statements, prefix: string): Promise<number> {
  try {
    const [row] = await on.rows(`select max(version) as version from \`${prefix}migrations\``);
    await endSnapshot(on);
    return row.version ?? 0;
  } catch (error) {
    if (errnoOf(error) === NO_SUCH_TABLE) return 0;
    throw error;
  }
}

// 3, of MariaDB, writes a commit to the disk as 1 does.
const DURABLE = new Set([1, 3]);

/** By which settings the server may lose commits, in words. */
async function cautionsOf({ rows }: Statements): Promise<string[]> {
  const [{ flush, has_binlog: hasBinlog, sync_binlog: sync }] = await rows(
    `select @@global.innodb_flush_log_at_trx_commit as flush, @@global.log_bin as has_binlog, @@global.sync_binlog as sync_binlog`,
  );
  const cautions: string[] = [];
  if (!DURABLE.has(flush)) {
    const whose = flush === 0 ? "the server's process or its machine" : "the server's machine";
    cautions.push(cautionOf("innodb_flush_log_at_trx_commit", flush, whose));
  }
  if (hasBinlog === 1 && sync !== 1) cautions.push(cautionOf("sync_binlog", sync, "the server's machine"));
  return cautions;
}

function cautionOf(setting: string, value: number, whose: string): string {
  return `mysqlOutbox: ${setting} is ${value}: if ${whose} ends without warning, what was committed last is lost. A payment that was queued then is missing, and one that was delivered then may be sent again. Set it to 1 (docs/mysql.md, "Durability")`;
}
