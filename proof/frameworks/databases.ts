import mysql from "mysql2/promise";
import pg from "pg";
import { startCluster } from "../../test/helpers/cluster.js";
import { startMariaDb } from "../../test/helpers/mariadb.js";
import { startPgBouncer } from "./pgbouncer.js";

/** PostgreSQL and MariaDB databases for recipes. */
export async function startDatabases(options: { mysql: boolean; pgbouncer: boolean }) {
  const cluster = await startCluster({ fsync: "off" });
  const pgbouncer = options.pgbouncer ? await startPgBouncer(cluster) : undefined;
  const mariaDb = options.mysql ? await startMariaDb({ "innodb-flush-log-at-trx-commit": 0 }) : undefined;
  const mysqlAdmin = mariaDb && (await mysql.createConnection(mariaDb.connection));
  const admin = new pg.Client({ connectionString: cluster.connectionString });
  await admin.connect();
  let count = 0;
  return {
    /** A new one, as the environment that a recipe reads. */
    async create(through: { mysql: boolean; pgbouncer: boolean }): Promise<{ DATABASE_URL: string }> {
      const name = `recipe_${++count}`;
      if (through.mysql && mariaDb) {
        await mysqlAdmin?.query(`create database ${name}`);
        const url = new URL(mariaDb.uri);
        url.pathname = name;
        return { DATABASE_URL: url.href };
      }
      await admin.query(`create database ${name}`);
      const port = through.pgbouncer ? pgbouncer?.port : cluster.port;
      return { DATABASE_URL: `postgres://postgres@${cluster.host}:${port}/${name}` };
    },
    async close() {
      await admin.end();
      await mysqlAdmin?.end();
      await mariaDb?.destroy();
      await pgbouncer?.stop();
      await cluster.destroy();
    },
  };
}
