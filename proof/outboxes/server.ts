import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";
import mysql from "mysql2/promise";
import pg from "pg";
import type { SqlOutbox } from "../../src/outbox/queue/queue-outbox.js";
import { startCluster } from "../../test/helpers/cluster.js";
import { startMariaDb } from "../../test/helpers/mariadb.js";
import type { OwnServer } from "../../test/helpers/own-server.js";

/** Which outbox a proof is about. */
export type Kind = "postgres" | "mysql";

/** Settings of a server without flushes, for proofs that are not about how fast the disk is. */
export const UNFLUSHED = {
  postgres: { fsync: "off" },
  mysql: { "innodb-flush-log-at-trx-commit": 0 },
} satisfies Record<Kind, object>;

/** A database server that a proof has started. */
export interface Server extends OwnServer {
  readonly uri: string;
}

/** An outbox on a connection pool of its own. */
export interface Opened {
  readonly outbox: SqlOutbox;
  /** Runs one statement. */
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says.
  sql(text: string): Promise<any[]>;
  /** Ends the pool; the outbox is closed before. */
  end(): Promise<void>;
}

interface OpenOptions {
  readonly name?: string;
  readonly connections?: number;
  readonly leaseMs?: number;
  readonly migrate?: boolean;
}

/** @throws Error if it is none of them. */
export function kindFrom(word: string): Kind {
  if (word === "postgres" || word === "mysql") return word;
  throw new Error(`--outbox must be postgres or mysql, got ${word}`);
}

/** PostgreSQL or MariaDB, each commit on the disk before it is answered; `settings` go first. */
export async function startServer(
  kind: Kind,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Server> {
  if (kind === "mysql") return startMariaDb({ "innodb-buffer-pool-size": "256M", ...settings });
  const cluster = await startCluster({ autovacuum_naptime: "1s", ...settings });
  return { ...cluster, uri: cluster.connectionString };
}

/** @param options.name of its tables' prefix or schema, if it is not the outbox's own. */
export function open(
  kind: Kind,
  uri: string,
  { name, connections = 10, ...options }: OpenOptions = {},
): Opened {
  if (kind === "mysql") {
    const pool = mysql.createPool({ uri, connectionLimit: connections });
    return {
      outbox: mysqlOutbox({ pool, ...options, ...(name && { prefix: `${name}_` }) }),
      sql: async (text) => (await pool.query(text))[0] as never,
      end: () => pool.end(),
    };
  }
  const pool = new pg.Pool({ connectionString: uri, max: connections });
  return {
    outbox: postgresOutbox({ pool, ...options, ...(name && { schema: name }) }),
    sql: async (text) => (await pool.query(text)).rows,
    end: () => pool.end(),
  };
}
